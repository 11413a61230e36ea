"""Connections within bounds: how many, how long a request may take to come, and how large it is.

Uvicorn's protocol bounds none of these. A request that is refused here never reaches the
application: it is answered with the error body and logged by the edge, then its connection closes.
"""

import asyncio
import re
import resource
from asyncio.events import TimerHandle
from functools import partial
from typing import Any, ClassVar

import msgspec
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from api.answers.bodies import MAX_BODY
from api.edge.outbox import Outbox
from api.edge.request_log import RequestRecorder
from api.edge.starts import Starts
from api.errors import ERROR_TYPES, ErrorBody
from domain.errors import InvalidInput

MAX_URL = 16_384
MAX_HEADERS = 100
MAX_HEADER_BYTES = 32_768
MAX_HEAD = MAX_URL + MAX_HEADER_BYTES
MAX_UNREAD_BODY = 65_536
"""Most bytes of a body where a request has no use for a body."""
MAX_PIPELINED = 16
"""Most requests of one connection that wait for the answer to an earlier one."""
LEAST_RATE = 256_000
"""Bytes a second that a client must read of an answer after its receive timeout."""
_WITH_BODY = frozenset({b"POST", b"PUT", b"PATCH"})
_DELETE_WITH_BODY = re.compile(rb"[^?]*/deleteStale/*(\?|$)").match
"""The addresses at which a DELETE has a body: the names that a connector has seen."""
_LINGER_SECONDS = 2.0
"""Longest time for which the rest of a refused request is dropped, so that its answer can be read.
"""
_OTHER_FILES = 256


class _Refused(Exception):
    """Ends the parsing of a request that has been answered."""


class BoundedProtocol(HttpToolsProtocol):
    """A connection; class attributes hold what all connections of the process share."""

    edge: ClassVar[RequestRecorder]
    max_connections: ClassVar[int]
    receive_timeout: ClassVar[float]
    waiting: ClassVar[dict["BoundedProtocol", None]]
    """Connections that wait for their client to send a request or to read an answer.

    The connection that has waited the longest comes first.
    """
    starts: ClassVar[Starts]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a new connection; beyond the most allowed, close the one that waits the longest."""
        super().connection_made(transport)
        self.edge.count_connections(len(self.connections))
        self._refused = False
        self._answering: RequestResponseCycle | None = None
        self._timer: TimerHandle | None = None
        self._writing_timer: TimerHandle | None = None
        self._patience = self.receive_timeout
        self._paused_at, self._unread = 0.0, 0
        self._heading = True
        self._receiving = False
        self._head_bytes = self._body_bytes = 0
        self._set_timer()
        if len(self.connections) > self.max_connections:
            longest = next(iter(self.waiting), None)
            if longest is None:
                self._refuse(503, "as many connections as there may be")
                return
            longest.make_room()
        self.waiting[self] = None

    def make_room(self) -> None:
        """Close this connection so that another one can be taken."""
        self.waiting.pop(self, None)
        if self._writing_timer is None:
            self.transport.close()
        else:
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection; work for it stops at its next step."""
        self.waiting.pop(self, None)
        self._unset_timer()
        if self._writing_timer is not None:
            self._writing_timer.cancel()
        answering = self._answering
        if answering is not None and not answering.response_complete:
            # Uvicorn tells only the newest request of a pipeline.
            answering.disconnected = True
            answering.message_event.set()
        super().connection_lost(exc)
        self.edge.count_connections(len(self.connections))

    def data_received(self, data: bytes) -> None:
        """Parse the received bytes, unless the request was refused."""
        if self._refused or self.transport.is_closing():
            return
        if self._heading:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._refused:
            return
        if self._heading and self._head_bytes > MAX_HEAD:
            self._refuse(431, f"the head of a request may have {MAX_HEAD} bytes")
        elif self._timer is None and (
            self._receiving or (self._head_bytes if self._heading else self._is_left())
        ):
            self._set_timer()

    # Callbacks of the parser

    def on_message_begin(self) -> None:
        """Begin to count the bytes and headers of a new request."""
        self._heading, self._receiving = True, False
        self._head_bytes, self._header_bytes, self._body_bytes = 1, 0, 0
        self._header_count = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Take a piece of the address; refuse one that is too long with status 414."""
        super().on_url(url)
        if len(self.url) > MAX_URL:
            self._refuse(414, f"an address may have {MAX_URL} bytes")
            raise _Refused

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; refuse too many, or too many bytes of them, with status 431."""
        self._header_count += 1
        self._header_bytes += len(name) + len(value)
        if self._header_count > MAX_HEADERS or self._header_bytes > MAX_HEADER_BYTES:
            self._refuse(
                431, f"a request may have {MAX_HEADERS} headers of {MAX_HEADER_BYTES} bytes in all"
            )
            raise _Refused
        # Headers of a trailer come too late to have a meaning (RFC 9110, 6.5.1).
        if self._heading:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Begin a request whose head is whole, unless its body or the pipeline is too long."""
        self._unset_timer()
        self._heading, self._receiving = False, True
        self._head_bytes = 0
        method = self.parser.get_method()
        reads = method in _WITH_BODY or (method == b"DELETE" and _DELETE_WITH_BODY(self.url))
        self._most = MAX_BODY if reads else MAX_UNREAD_BODY
        hosts = 0
        for name, value in self.headers:
            if name == b"content-length" and value.isdigit() and int(value) > self._most:
                self._refuse_body()
            hosts += name == b"host"
        if hosts > 1:
            self._refuse(400, "a request has one Host header")
            raise _Refused
        upgrade = self.parser.should_upgrade()
        if upgrade and any(
            name == b"transfer-encoding" or (name == b"content-length" and value != b"0")
            for name, value in self.headers
        ):
            self._refuse(400, "a request with a body cannot ask for another protocol")
            raise _Refused
        self.begin_request()
        if upgrade:
            # The request is answered in HTTP/1.1; later bytes of the connection are not parsed.
            self.cycle.keep_alive = False
        if len(self.pipeline) > MAX_PIPELINED:
            self._refuse(400, f"{MAX_PIPELINED} requests may wait for the answer to another")
            raise _Refused

    def begin_request(self) -> None:
        """Begin to answer the request whose head is whole and within bounds."""
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body; refuse one that is too long with status 413."""
        self._body_bytes += len(body)
        if self._body_bytes > self._most:
            self._refuse_body()
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End the time that a request may take to come: all of it is there."""
        self._unset_timer()
        self.waiting.pop(self, None)
        self._receiving = False
        super().on_message_complete()
        self._wait()

    def on_response_complete(self) -> None:
        """Wait for the client again, or answer the next request of the pipeline first."""
        super().on_response_complete()
        if self.pipeline:
            self.flow.pause_reading()
        self._wait()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._answering = cycle
        if cycle.scope["http_version"] == "1.0":
            app = partial(_answer_unchunked, cycle, app)
        self.starts.begin(self.loop, partial(super()._start_asgi_task, cycle, app))

    def _unsupported_upgrade_warning(self) -> None:
        """Log nothing: any client may ask for another protocol, and is answered in HTTP/1.1."""

    def _wait(self) -> None:
        """Count this connection as waiting for its client, unless a request is under way."""
        if self._is_idle() and not self.transport.is_closing():
            self.waiting[self] = None

    def _is_idle(self) -> bool:
        return not self._receiving and self.cycle.response_complete and not self.pipeline

    def _is_left(self) -> bool:
        """True if empty lines after an answer ended its keep-alive time without a request."""
        return self._is_idle() and self.timeout_keep_alive_task is None

    def _refuse_body(self) -> None:
        self._refuse(413, f"the body of such a request may have {self._most} bytes")
        raise _Refused

    # Clients that do not read

    def pause_writing(self) -> None:
        """Start the time that a client has to read on, once it does not keep up."""
        super().pause_writing()
        if self._writing_timer is None:
            self._paused_at = self.loop.time()
            self._unread = self.transport.get_write_buffer_size()
            self._writing_timer = self.loop.call_later(self._patience, self.transport.abort)
            self.waiting[self] = None

    def resume_writing(self) -> None:
        """Stop the time of a client that reads on, and give it more for the bytes that it read."""
        if self._writing_timer is not None:
            self._writing_timer.cancel()
            self._writing_timer = None
            read = self._unread - self.transport.get_write_buffer_size()
            left = self._patience - (self.loop.time() - self._paused_at) + read / LEAST_RATE
            self._patience = min(left, self.receive_timeout)
            if not self._receiving:
                self.waiting.pop(self, None)
        super().resume_writing()

    # Time, and answers of our own

    def _set_timer(self) -> None:
        self._timer = self.loop.call_later(self.receive_timeout, self._late)

    def _unset_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        self._timer = None
        if not self._head_bytes if self._heading else self.cycle.response_complete:
            self.transport.close()
        else:
            self._refuse(408, f"a request must come within {self.receive_timeout:g} s")

    def send_400_response(self, msg: str) -> None:
        """Refuse a request that the parser stopped at, unless it was refused already."""
        if not self._refused:
            self._refuse(400, "this is no HTTP request")

    def _refuse(self, status: int, why: str) -> None:
        """Answer and close; while another request is being answered, close after that."""
        self._refused = True
        self._unset_timer()
        self.waiting.pop(self, None)
        cycle = self._answering
        if cycle is not None and cycle.scope is self.scope and cycle.response_complete:
            # The request was answered already, before all of its body had come.
            self.transport.close()
            return
        request_id = self.edge.refused(status, why, self.client[0] if self.client else "")
        if cycle is not None and not cycle.response_complete:
            if cycle.scope is not self.scope or cycle.response_started:
                # Earlier requests are answered; then the connection ends.
                cycle.keep_alive = False
                self.pipeline.clear()
                return
            # The application waits for the rest of the body, which will not come.
            cycle.disconnected = True
            cycle.message_event.set()
        body = msgspec.json.encode(ErrorBody(status, ERROR_TYPES[status], why, request_id))
        head = b"content-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n"
        head += b"x-request-id: %b\r\n\r\n" % request_id.encode()
        if status == 503:
            head = b"retry-after: 1\r\n" + head
        self.transport.write(STATUS_LINE[status] + head % len(body) + body)
        if status == 503:
            self.transport.close()
        else:
            self.transport.write_eof()
            self.loop.call_later(_LINGER_SECONDS, self.transport.close)


async def _answer_unchunked(
    cycle: RequestResponseCycle, app: Any, scope: Any, receive: Any, send: Any
) -> None:
    """Have an application answer a client of HTTP/1.0, which knows no chunks.

    The end of the connection is the end of a body that has no Content-Length.
    """
    has_length = True

    async def send_unchunked(message: Any) -> None:
        nonlocal has_length
        if message["type"] == "http.response.start":
            has_length = any(name == b"content-length" for name, _ in message["headers"])
            if not has_length:
                cycle.chunked_encoding = False
        elif not has_length:
            cycle.expected_content_length = len(message.get("body", b""))
        await send(message)

    await app(scope, receive, send_unchunked)


def bounded(
    protocol: type[BoundedProtocol],
    edge: RequestRecorder,
    max_connections: int,
    receive_timeout: float,
) -> type[BoundedProtocol]:
    """A subclass of a protocol for the connections of one server, for uvicorn's setting `http`.

    Lets the process open enough files for the connections; raises InvalidInput where the system
    does not allow so many.
    """
    needed = max_connections + _OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise InvalidInput(
            f"CATALOG_MAX_CONNECTIONS: {max_connections} need {needed} open files,"
            f" and this process may have {hard}"
        )
    if soft != resource.RLIM_INFINITY and soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
    members: dict[str, Any] = {
        "edge": edge,
        "max_connections": max_connections,
        "receive_timeout": receive_timeout,
        "waiting": {},
        "starts": Starts(),
        "outbox": Outbox(),
    }
    return type("ServerProtocol", (protocol,), members)
