"""Connections that answer plain reads themselves, as soon as the head of the request has come.

The usual way of an answer is a task for the application, which sends a head and a body as messages.
"""

import asyncio
from typing import Any, ClassVar, NamedTuple

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from api.answers.responses import header_lines
from api.edge.connections import BoundedProtocol

_BODY_HEADERS = frozenset({b"content-length", b"transfer-encoding", b"expect"})


class _Answered:
    """Stands for the cycle of a request that was answered at once."""

    response_complete = True
    keep_alive = True
    message_event = asyncio.Event()
    """Set when the connection is lost, for a task that reads from it; here there is none."""


class _Head(NamedTuple):
    """The head of a plain read, as the scope of a request has it."""

    path: str
    raw_path: bytes
    query_string: bytes
    headers: list[tuple[bytes, bytes]]
    prefix: str | None
    """The prefix that was taken off the paths, if they had it; see api.paths.base_path."""


MOST_HEADS, MOST_HEAD_BYTES = 512, 2_048
"""How many heads of plain reads a process remembers, and how long each may be."""
_TRIED = ("user", "auth", "made", "state")
"""What a scope has of a request that was not answered at once; see api.edge.quick_path."""


class AnsweringProtocol(BoundedProtocol):
    """A connection within bounds that leaves to a task what is no plain read."""

    _heads: ClassVar[dict[bytes, _Head]] = {}
    """Requests that were answered at once, whole and byte by byte, with what their heads say.

    Clients send the same bytes again and again, and parsing them takes longer than the answer.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a new connection."""
        self._may_answer = False
        self._tried: Any = None
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Take what has come; the first request in it may be answered at once."""
        between = self._is_between_requests()
        if between and (head := self._heads.get(data)) is not None and self._answer_again(head):
            return
        self._may_answer = True
        super().data_received(data)
        if between and self._is_between_requests() and isinstance(self.cycle, _Answered):
            self._remember(data)

    def begin_request(self) -> None:
        """Answer a plain read, or have a task answer any other request."""
        if self._tried is not None:
            # The same request was admitted already, and is not to be counted twice.
            tried, self._tried = self._tried, None
            self._may_answer = False
            scope: Any = self.scope
            scope.update({key: tried[key] for key in _TRIED if key in tried})
        if not self._answer():
            super().begin_request()

    def _is_between_requests(self) -> bool:
        """True if all that has come was parsed and answered, and the client reads answers."""
        cycle = self.cycle
        return (
            not (self._receiving or (self._heading and self._head_bytes))
            and (cycle is None or cycle.response_complete)
            and not (self._refused or self.flow.write_paused or self.transport.is_closing())
        )

    def _remember(self, data: bytes) -> None:
        """Keep what the bytes of a request say that was just answered at once."""
        if len(data) <= MOST_HEAD_BYTES:
            if len(self._heads) >= MOST_HEADS:
                self._heads.clear()
            scope: Any = self.scope
            self._heads[data] = _Head(
                scope["path"],
                scope["raw_path"],
                scope["query_string"],
                self.headers,
                scope.get("prefix"),
            )

    def _answer_again(self, head: _Head) -> bool:
        """Answer a request whose bytes are known; returns False for one that is to be parsed."""
        self.on_message_begin()
        scope: Any = self.scope
        scope["method"], scope["headers"] = "GET", head.headers
        scope["path"], scope["raw_path"] = head.path, head.raw_path
        scope["query_string"] = head.query_string
        if head.prefix is not None:
            scope["prefix"] = head.prefix
        self._heading = False
        if not self._respond(scope):
            self._tried = scope
            return False
        return True

    def _answer(self) -> bool:
        """Answer a plain read at once, without a task; returns whether the request was one.

        Of the requests that come in one piece only the first is answered so: each takes the event
        loop for up to a millisecond.
        """
        cycle = self.cycle
        if (
            not self._may_answer
            or not self.url.startswith(b"/")
            or self.parser.get_method() != b"GET"
            or self.parser.get_http_version() != "1.1"
            or not self.parser.should_keep_alive()
            or self.parser.should_upgrade()
            or self.flow.write_paused
            or not (cycle is None or cycle.response_complete)
            or any(name in _BODY_HEADERS for name, _ in self.headers)
        ):
            return False
        path, _, query = self.url.partition(b"?")
        if b"%" in path or b"#" in self.url:
            return False
        self._may_answer = False
        scope: Any = self.scope
        scope["method"], scope["path"] = "GET", path.decode("ascii")
        scope["raw_path"], scope["query_string"] = path, query
        return self._respond(scope)

    def _respond(self, scope: Any) -> bool:
        """Write the answer to a plain read; returns False where a route must answer."""
        answered = self.edge.answer(scope)
        if answered is None:
            return False
        answer, request_id = answered
        self.transport.write(
            b"%b%b%bx-request-id: %b\r\n\r\n%b"
            % (
                STATUS_LINE[answer.status_code],
                header_lines(self.server_state.default_headers),
                answer.header_lines(),
                request_id.encode(),
                answer.body,
            )
        )
        self.cycle = _Answered()  # type: ignore[assignment]
        self._unset_timer()
        self.waiting.pop(self, None)
        self.on_response_complete()
        return True
