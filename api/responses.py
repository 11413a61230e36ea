"""Responses whose bodies are finished bytes, as almost all of ours are, whole or in chunks."""

from collections.abc import AsyncIterator, Generator, Mapping

from anyio import to_thread
from litestar.response.base import ASGIResponse
from litestar.types import Receive, Scope, Send

JSON = "application/json"
NDJSON = "application/x-ndjson"


class Finished(ASGIResponse):
    """Sends a body as it is.

    The framework's own response prepares cookies, encodings and background work that these
    never have; that preparation costs as much as reading a page of a list.
    """

    def __init__(
        self,
        body: bytes,
        *,
        status_code: int = 200,
        media_type: str = JSON,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.body = body
        self.status_code = status_code
        self.raw_headers = [
            (b"content-type", media_type.encode()),
            (b"content-length", b"%d" % len(body)),
        ]
        for name, value in (headers or {}).items():
            self.raw_headers.append((name.lower().encode(), value.encode()))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the head, then the whole body."""
        await send(
            {
                "type": "http.response.start",
                "status": self.status_code,
                "headers": self.raw_headers,
            }
        )
        body = b"" if scope.get("method") == "HEAD" else self.body
        await send({"type": "http.response.body", "body": body, "more_body": False})


async def made_in_thread(first: bytes, chunks: Generator[bytes]) -> AsyncIterator[bytes]:
    """The chunks, each made in a thread; closes the generator however the response ends."""
    try:
        yield first
        while chunk := await to_thread.run_sync(next, chunks, b""):
            yield chunk
    finally:
        chunks.close()
