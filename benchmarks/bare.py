"""The yardstick of reads over HTTP: an ASGI application that gives constants and does nothing else.

It runs under the same server software, as that comes: without the framework, the product's
connections, tokens, logs and metrics.
"""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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

    async def app(scope: Any, receive: Any, send: Any) -> None:
        head, body = messages[scope["path"]]
        await send(head)
        await send(body)

    uvicorn.run(app, host="127.0.0.1", port=port, lifespan="off", log_config=None, access_log=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
