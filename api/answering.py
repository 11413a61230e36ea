"""Connections that answer plain reads themselves, as soon as the head of the request has come.

The usual way of an answer is a task for the application, which sends a head and a body as messages.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from api.connections import BoundedProtocol

_BODY_HEADERS = frozenset({b"content-length", b"transfer-encoding", b"expect"})


class _Answered:
    """Stands for the cycle of a request that was answered at once."""

    response_complete = True
    keep_alive = True
    message_event = asyncio.Event()
    """Set when the connection is lost, for a task that reads from it; here there is none."""


class AnsweringProtocol(BoundedProtocol):
    """A connection within bounds that leaves to a task what is no plain read."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a new connection."""
        self._may_answer = False
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Parse what has come; the first request in it may be answered at once."""
        self._may_answer = True
        super().data_received(data)

    def begin_request(self) -> None:
        """Answer a plain read, or have a task answer any other request."""
        if not self._answer():
            super().begin_request()

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
        answered = self.edge.answer(scope)
        if answered is None:
            return False
        answer, request_id = answered
        headers = [*self.server_state.default_headers, *answer.raw_headers]
        self.transport.write(
            b"%b%bx-request-id: %b\r\n\r\n%b"
            % (
                STATUS_LINE[answer.status_code],
                b"".join([b"%b: %b\r\n" % header for header in headers]),
                request_id.encode(),
                answer.body,
            )
        )
        self.cycle = _Answered()  # type: ignore[assignment]
        self.on_response_complete()
        return True
