"""Responses whose bodies are finished bytes, as almost all of ours are, whole or in chunks."""

from collections.abc import AsyncIterator, Generator, Mapping
from functools import partial
from itertools import islice

from litestar.response.base import ASGIResponse
from litestar.response.streaming import ASGIStreamingResponse
from litestar.types import Receive, Scope, Send

from api.limits import Places, WorkQueue
from api.request_log import has_left

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


class Heavy(ASGIResponse):
    """What takes long to make: chunk by chunk in threads, each when it is its caller's turn.

    One chunk alone is sent whole. More are streamed, which takes one of the caller's places.
    """

    def __init__(
        self,
        chunks: Generator[bytes],
        caller: str,
        queue: WorkQueue,
        streams: Places,
        headers: Mapping[str, str] | None = None,
        media_type: str = JSON,
    ) -> None:
        """Nothing is made before the response is called."""
        self._chunks = chunks
        self._caller = caller
        self._queue = queue
        self._streams = streams
        self._headers = dict(headers or {})
        self._media_type = media_type

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Raises TooManyRequests, ClientLeft and what the first chunk raises before the head."""
        try:
            work = partial(_first_two, self._chunks)
            made = await self._queue.run(self._caller, work, partial(has_left, receive))
            if len(made) == 1:
                whole = Finished(made[0], media_type=self._media_type, headers=self._headers)
                await whole(scope, receive, send)
                return
            with self._streams.held(self._caller):
                response = ASGIStreamingResponse(
                    iterator=self._all(made),
                    headers={"Content-Type": self._media_type, **self._headers},
                    is_head_response=scope.get("method") == "HEAD",
                )
                await response(scope, receive, send)
        finally:
            self._chunks.close()

    async def _all(self, made: list[bytes]) -> AsyncIterator[bytes]:
        while made:
            yield made.pop(0)
        while chunk := await self._queue.go_on(self._caller, partial(next, self._chunks, b"")):
            yield chunk


def _first_two(chunks: Generator[bytes]) -> list[bytes]:
    """The first chunk, and the second if there is one."""
    return [next(chunks), *islice(chunks, 1)]
