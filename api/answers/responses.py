"""Responses whose bodies are finished bytes, whole or in chunks, as almost all of this API are.

The event loop serves all callers, so what it does for one answer is bounded: nothing above
`LOOP_BYTES` is encoded, cut or handed to the socket by one step of it.

- A body of that size or less may be made on the loop; answer `Finished`.
- A larger one is made in a thread (a write makes it in the thread that writes, a read in
  `Services.heavy_reads`); answer `Finished` all the same, which sends it in pieces and lets other
  requests in between.
- Where one caller could have many large ones sent at once to clients that do not read, answer
  `Large`, which takes one of the caller's streams while it sends.
- What is made chunk by chunk, so that it is never whole in memory, is `Heavy`.

`Streams` bounds what both hold for clients that do not read.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterable, Mapping
from contextlib import closing
from copy import copy
from functools import partial
from itertools import islice
from typing import Any

from anyio import sleep
from litestar import Request
from litestar.response.base import ASGIResponse
from litestar.response.streaming import ASGIStreamingResponse
from litestar.types import Receive, Scope, Send

from api.answers.bodies import has_left
from api.answers.compression import COMPRESSED_FROM, accepts_gzip, compress, compressed
from api.callers.limits import Stream, Streams
from api.callers.permissions import Principal
from api.callers.work_queue import WorkQueue

JSON = "application/json"
NDJSON = "application/x-ndjson"
_OF_CONTENT = frozenset({b"content-type", b"content-length"})
_VARY = (b"vary", b"accept-encoding")
LOOP_BYTES = 256 * 1024
"""The largest part of an answer that one step of the event loop encodes, cuts or sends."""


def header_lines(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Headers as HTTP/1.1 sends them, each with its line end."""
    lines = b""
    for name, value in headers:
        lines += name + b": " + value + b"\r\n"
    return lines


class Finished(ASGIResponse):
    """Sends a body as it is, a large one in pieces.

    The framework's own response prepares cookies, encodings and background work, which no
    answer here has; that preparation costs as much as reading a page of a list.
    """

    def __init__(
        self,
        body: bytes,
        *,
        status_code: int = 200,
        media_type: str = JSON,
        headers: Mapping[str, str] | None = None,
        conditional: bool = False,
    ) -> None:
        """`conditional` is whether a client that has the body already, by its ETag, gets a 304."""
        self.body = body
        self.conditional = conditional
        self.status_code = status_code
        self.raw_headers = [
            (b"content-type", media_type.encode()),
            (b"content-length", str(len(body)).encode()),
        ]
        if len(body) >= COMPRESSED_FROM:
            self.raw_headers.append(_VARY)
        if headers:
            for name, value in headers.items():
                self.raw_headers.append((name.lower().encode(), value.encode()))
        self._header_lines: bytes | None = None

    def header_lines(self) -> bytes:
        """The headers as HTTP/1.1 sends them, made once for all that the answer is given to."""
        if self._header_lines is None:
            self._header_lines = header_lines(self.raw_headers)
        return self._header_lines

    def unless(self, headers: Iterable[tuple[bytes, bytes]]) -> "Finished":
        """Return this answer, or a 304 when an If-None-Match header names its entity tag.

        Entity tags are compared weakly (RFC 9110, 13.1.2).
        """
        known = b",".join([value for name, value in headers if name == b"if-none-match"])
        if not known:
            return self
        tags = {each.strip().removeprefix(b"W/") for each in known.split(b",")}
        tag = dict(self.raw_headers)[b"etag"].removeprefix(b"W/")
        if tag not in tags and b"*" not in tags:
            return self
        answer = copy(self)
        answer.body, answer.status_code, answer.conditional = b"", 304, False
        answer.raw_headers = [each for each in self.raw_headers if each[0] not in _OF_CONTENT]
        answer._header_lines = None
        return answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the head, then the whole body; other requests are served between its pieces."""
        answer = self.unless(scope["headers"]) if self.conditional else self
        body, headers = answer.body, answer.raw_headers
        if len(body) >= COMPRESSED_FROM and accepts_gzip(scope["headers"]):
            caller = scope.get("user")
            body = await compress(body, caller.name if isinstance(caller, Principal) else "")
            kept = [header for header in headers if header[0] != b"content-length"]
            length = (b"content-length", b"%d" % len(body))
            headers = [*kept, length, (b"content-encoding", b"gzip")]
        await send(
            {"type": "http.response.start", "status": answer.status_code, "headers": headers}
        )
        if scope.get("method") == "HEAD":
            body = b""
        if len(body) > LOOP_BYTES:
            async for piece in _pieces(body):
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            body = b""
        await send({"type": "http.response.body", "body": body, "more_body": False})


class Large(Finished):
    """A finished body that may be large: one above `LOOP_BYTES` is a stream of its caller.

    A client that does not read keeps the body in memory, and a caller may have many clients; so
    each large body is one of the caller's streams while it is sent.
    """

    def __init__(
        self,
        body: bytes,
        caller: str,
        streams: Streams,
        *,
        media_type: str = JSON,
        headers: Mapping[str, str] | None = None,
        conditional: bool = False,
    ) -> None:
        super().__init__(body, media_type=media_type, headers=headers, conditional=conditional)
        self._caller = caller
        self._streams = streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the head and the body; raises TooManyRequests and Overloaded before the head."""
        if len(self.body) <= LOOP_BYTES:
            await super().__call__(scope, receive, send)
            return
        with self._streams.opened(self._caller, len(self.body)):
            await super().__call__(scope, receive, send)


class Deferred(ASGIResponse):
    """An answer that takes time, and so is made only when it is sent, in the task of its request.

    A route that the quick path may call on the event loop (`api.edge.quick_path`) returns this
    where its answer would take long.
    """

    def __init__(self, make: Callable[[Request[Any, Any, Any]], Awaitable[ASGIResponse]]) -> None:
        self._make = make

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Make and send the answer; raises what making it raises, before the head is sent."""
        response = await self._make(Request(scope, receive, send))
        await response(scope, receive, send)


class Heavy(ASGIResponse):
    """Makes an answer chunk by chunk in threads, each chunk when it is its caller's turn.

    One chunk alone is sent whole. More are one of the caller's streams, as one chunk above
    `LOOP_BYTES` is. An empty chunk ends a turn, and is not sent. While too much is unread, no
    chunk is made.
    """

    def __init__(
        self,
        chunks: Generator[bytes],
        caller: str,
        queue: WorkQueue,
        streams: Streams,
        headers: Mapping[str, str] | None = None,
        media_type: str = JSON,
        *,
        compressible: bool = False,
    ) -> None:
        """`chunks` makes the answer; nothing of it is made before the response is called.

        With `compressible`, an answer of several chunks is compressed for clients that take gzip,
        each chunk in the turn that makes it.
        """
        self._chunks = chunks
        self._caller = caller
        self._queue = queue
        self._streams = streams
        self._headers = dict(headers or {})
        self._media_type = media_type
        self._compressible = compressible

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Make and send the answer.

        Raises TooManyRequests, Overloaded, ClientLeft and what the first chunk raises, before the
        head is sent.
        """
        try:
            made = await self._first_two(receive)
            if len(made) == 1:
                whole = Large(
                    made[0],
                    self._caller,
                    self._streams,
                    media_type=self._media_type,
                    headers=self._headers,
                )
                await whole(scope, receive, send)
                return
            size = sum(map(len, made))
            headers = {"Content-Type": self._media_type, **self._headers}
            if self._compressible:
                headers["Vary"] = ", ".join(filter(None, (headers.get("Vary"), "Accept-Encoding")))
                if accepts_gzip(scope["headers"]):
                    headers["Content-Encoding"] = "gzip"
                    self._chunks, made = compressed(_before(made, self._chunks)), []
            with self._streams.opened(self._caller, size) as stream:
                response = ASGIStreamingResponse(
                    iterator=self._all(made, stream),
                    headers=headers,
                    is_head_response=scope.get("method") == "HEAD",
                )
                await response(scope, receive, send)
        finally:
            self._chunks.close()

    async def _first_two(self, receive: Receive) -> list[bytes]:
        """The first chunk that is not empty, and the second, if there are any."""
        made: list[bytes] = []
        while True:
            turn = partial(_take, self._chunks, 2 - len(made))
            taken = await self._queue.run(self._caller, turn, partial(has_left, receive))
            made += filter(None, taken)
            if len(made) == 2 or not taken or taken[-1]:
                return made

    async def _all(self, made: list[bytes], stream: Stream) -> AsyncIterator[bytes]:
        while made:
            async for piece in _pieces(made.pop(0)):
                yield piece
        while (chunk := await self._next(stream)) is not None:
            async for piece in _pieces(chunk):
                yield piece

    async def _next(self, stream: Stream) -> bytes | None:
        """The next chunk, None at the end; earlier chunks have been sent by then."""
        stream.hold(0)

        def turn() -> bytes | None:
            # Look for room only when the turn has come: other streams have made chunks meanwhile.
            return next(self._chunks, None) if stream.has_room() else b""

        while True:
            await stream.wait_for_room()
            chunk = await self._queue.go_on(self._caller, turn)
            if chunk != b"":
                stream.hold(len(chunk or b""))
                return chunk


def _before(made: list[bytes], chunks: Generator[bytes]) -> Generator[bytes]:
    """The given chunks, then the remaining ones."""
    with closing(chunks):
        yield from made
        yield from chunks


def _take(chunks: Generator[bytes], most: int) -> list[bytes]:
    """At most `most` next chunks, up to the first empty one."""
    taken = []
    for chunk in islice(chunks, most):
        taken.append(chunk)
        if not chunk:
            break
    return taken


async def _pieces(body: bytes) -> AsyncIterator[bytes]:
    """The body in pieces of at most `LOOP_BYTES`; other requests are served between two pieces."""
    if body:
        yield body[:LOOP_BYTES]
    for start in range(LOOP_BYTES, len(body), LOOP_BYTES):
        # A client that reads as fast as it is sent to never makes `send` wait.
        await sleep(0)
        yield body[start : start + LOOP_BYTES]
