"""Connections that answer plain reads themselves, as soon as the head of the request has come.

The usual way of an answer is a task for the application, which sends a head and a body as messages.
"""

import asyncio
import string
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from api.answers.responses import header_lines
from api.edge.connections import MAX_URL, BoundedProtocol
from api.edge.known_headers import KnownHeaders
from api.edge.outbox import Outbox

_BODY_HEADERS = frozenset({b"content-length", b"transfer-encoding", b"expect"})


class _Answered:
    """Stands for the cycle of a request that was answered at once."""

    response_complete = True
    keep_alive = True
    message_event = asyncio.Event()
    """Set when the connection is lost, for a task that reads from it; here there is none."""


_ANSWERED: Any = _Answered()

MOST_HEADS, MOST_HEAD_BYTES = 512, 2_048
"""Number of heads of plain reads that a process remembers, without their first lines, and the most
bytes of each."""
_START, _END = b"GET /", b" HTTP/1.1"
"""Beginning and end of the first line of a plain read; its target begins with the slash."""
_IN_PATH = (string.ascii_letters + string.digits + "_.~/-").encode()
_IN_QUERY = _IN_PATH + b"?:@!$&'()*+,;=%"
"""Characters in the target of a plain read; the parser takes further ones."""
_TRIED = ("user", "auth", "made", "state")
"""Keys that an attempt to answer at once leaves in a scope; see `api.edge.quick_path`."""


class AnsweringProtocol(BoundedProtocol):
    """A connection within bounds that leaves to a task what is no plain read."""

    outbox: ClassVar[Outbox]

    _heads: ClassVar[dict[bytes, KnownHeaders]] = {}
    """Heads of requests that were answered at once, from the second line on -> their headers.

    Clients send the same lines with each request, and parsing them takes longer than many answers.
    """

    _defaults: ClassVar[tuple[list[tuple[bytes, bytes]], bytes]] = [], b""
    """The default headers of answers, and the lines that they are."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a new connection."""
        self._may_answer = False
        self._tried: Any = None
        self.answered_at = 0.0
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Take what has come; the first request in it may be answered at once."""
        between = self._is_between_requests()
        if between and self._answer_known(data):
            return
        # What is written otherwise must not come before an answer that is held.
        self.outbox.write()
        self._may_answer = True
        super().data_received(data)
        if between and self._is_between_requests() and self.cycle is _ANSWERED:
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
        """Keep the headers of a request that was just answered at once."""
        line, _, head = data.partition(b"\r\n")
        if len(head) <= MOST_HEAD_BYTES and _plain_target(line) is not None:
            if len(self._heads) >= MOST_HEADS:
                self._heads.clear()
            # The edge has put its own headers in place of the parsed ones.
            scope: Any = self.scope
            self._heads[head] = scope["headers"]

    def _answer_known(self, data: bytes) -> bool:
        """Answer a plain read whose head is known; returns False for what is to be parsed."""
        line, _, head = data.partition(b"\r\n")
        headers = self._heads.get(head)
        if headers is None or len(line) > MAX_URL or (target := _plain_target(line)) is None:
            return False
        self.on_message_begin()
        self._heading = False
        scope: Any = self.scope
        path, query = target
        scope["method"], scope["headers"], scope["path"] = "GET", headers, path.decode("ascii")
        scope["raw_path"], scope["query_string"] = path, query
        answer = self._respond(scope)
        if answer is None:
            self._tried = scope
            return False
        self.outbox.add(self.loop, self.transport, answer)
        # The connection that has waited the longest comes first.
        self.waiting[self] = None
        return True

    def _answer(self) -> bool:
        """Answer a plain read at once, without a task; returns whether the request was one.

        Only the first of the requests that come in one piece is answered so, since each takes the
        event loop for up to a millisecond.
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
        answer = self._respond(scope)
        if answer is None:
            return False
        self.transport.write(answer)
        return True

    def _respond(self, scope: Any) -> bytes | None:
        """Answer a plain read, with the bytes to be written; None if a task has to answer."""
        answered = self.edge.answer(scope)
        if answered is None:
            return None
        answer, request_id = answered
        self.cycle = _ANSWERED
        if self._timer is not None:
            self._unset_timer()
        self.server_state.total_requests += 1
        self.answered_at = self.loop.time()
        if self.timeout_keep_alive_task is None:
            self._close_after(self.timeout_keep_alive)
        self.waiting.pop(self, None)
        return b"".join(
            (
                STATUS_LINE[answer.status_code],
                self._lines_of(self.server_state.default_headers),
                answer.header_lines(),
                b"x-request-id: ",
                request_id.encode(),
                b"\r\n\r\n",
                answer.body,
            )
        )

    @classmethod
    def _lines_of(cls, headers: list[tuple[bytes, bytes]]) -> bytes:
        """The headers that uvicorn gives every answer, as HTTP/1.1 sends them."""
        known, lines = cls._defaults
        if known is not headers:
            # Uvicorn makes them anew each second.
            lines = header_lines(headers)
            cls._defaults = headers, lines
        return lines

    # Ends of a connection, which come behind the answers that are held

    def eof_received(self) -> None:
        """Write what is held: the connection closes once its client sends no more."""
        self.outbox.write()
        super().eof_received()

    def make_room(self) -> None:
        """Write what is held, and close this connection so that another one can be taken."""
        self.outbox.write()
        super().make_room()

    def shutdown(self) -> None:
        """Write what is held, and close this connection once it has answered."""
        self.outbox.write()
        super().shutdown()

    def timeout_keep_alive_handler(self) -> None:
        """Close the connection, unless it answered a request at once since the timer was set.

        Setting a timer anew for each answer takes longer than looking here when the last one was.
        """
        left = self.answered_at + self.timeout_keep_alive - self.loop.time()
        if left > 0:
            self._close_after(left)
        else:
            self.outbox.write()
            super().timeout_keep_alive_handler()

    def _close_after(self, seconds: float) -> None:
        handler = self.timeout_keep_alive_handler
        self.timeout_keep_alive_task = self.loop.call_later(seconds, handler)


def _plain_target(line: bytes) -> tuple[bytes, bytes] | None:
    """Path and query string in the first line of a plain read; None for any other line.

    A regular expression takes several times as long.
    """
    if not (line.startswith(_START) and line.endswith(_END)):
        return None
    path, _, query = line[4:-9].partition(b"?")
    if path.translate(None, _IN_PATH) or query.translate(None, _IN_QUERY):
        return None
    return path, query
