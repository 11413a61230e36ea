"""The yardstick over HTTP: an ASGI application that gives constants and stores what it is sent.

It runs under the same server software, as that comes: without the framework, the product's
connections, tokens, logs and metrics. What is PUT is decoded and becomes a row of a SQLite file,
acknowledged when it is durable: what all wait for together is one transaction. There are no checks,
no names, no events, and no lists to be kept.
"""

import asyncio
import queue
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import uvicorn

from benchmarks.running import Server, answers

_PATIENCE = 30.0


@contextmanager
def bare(directory: Path, bodies: Mapping[str, bytes], token: str) -> Iterator[Server]:
    """A process that answers `/NAME` with the body under that name, until the block ends.

    Requests carry the token as those to the product do; nothing looks at it.
    """
    for name, body in bodies.items():
        (directory / f"{name}.body").write_bytes(body)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "benchmarks.bare", str(directory), str(port)]
    with subprocess.Popen(command) as process:
        try:
            deadline = time.monotonic() + _PATIENCE
            while not answers(f"http://127.0.0.1:{port}/{next(iter(bodies))}"):
                assert time.monotonic() < deadline, "the bare application does not answer"
                time.sleep(0.02)
            yield Server("127.0.0.1", port, process.pid, token)
        finally:
            process.terminate()


def main(directory: Path, port: int) -> None:
    """Serve the bodies in a directory until stopped."""
    messages = {
        f"/{file.stem}": (
            {
                "type": "http.response.start",
                "status": 200,
                "headers": [
                    (b"content-type", b"application/json"),
                    (b"content-length", b"%d" % file.stat().st_size),
                ],
            },
            {"type": "http.response.body", "body": file.read_bytes(), "more_body": False},
        )
        for file in directory.glob("*.body")
    }

    stored = _Stored(directory / "stored.db")

    async def app(scope: Any, receive: Any, send: Any) -> None:
        head, body = messages[scope["path"]]
        if scope["method"] == "PUT":
            await stored.put(receive)
        await send(head)
        await send(body)

    uvicorn.run(app, host="127.0.0.1", port=port, lifespan="off", log_config=None, access_log=False)


class _Stored:
    """Bodies in a SQLite file, written by a thread: all that came meanwhile in one transaction."""

    def __init__(self, file: Path) -> None:
        self._waiting: queue.SimpleQueue[tuple[asyncio.Future[None], bytes]] = queue.SimpleQueue()
        threading.Thread(target=self._write, args=(file,), daemon=True).start()

    async def put(self, receive: Any) -> None:
        """Store the body of a request, and return when it is durable."""
        body, more = b"", True
        while more:
            message = await receive()
            body += message["body"]
            more = message.get("more_body", False)
        msgspec.json.decode(body)
        done = asyncio.get_running_loop().create_future()
        self._waiting.put((done, body))
        await done

    def _write(self, file: Path) -> None:
        database = sqlite3.connect(file, isolation_level=None)
        for statement in (
            "PRAGMA journal_mode=WAL",
            "PRAGMA synchronous=FULL",
            "CREATE TABLE bodies (number INTEGER PRIMARY KEY, body BLOB)",
        ):
            database.execute(statement)
        while True:
            some = [self._waiting.get()]
            while not self._waiting.empty():
                some.append(self._waiting.get())
            database.execute("BEGIN")
            database.executemany("INSERT INTO bodies (body) VALUES (?)", [(b,) for _, b in some])
            database.execute("COMMIT")
            some[0][0].get_loop().call_soon_threadsafe(_tell, [done for done, _ in some])


def _tell(stored: list["asyncio.Future[None]"]) -> None:
    for done in stored:
        if not done.done():
            done.set_result(None)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
