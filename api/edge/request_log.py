"""Gives every request its id, and at its end a line of the access log and its metrics."""

import itertools
import secrets
import time
from collections.abc import Callable, Iterable

from litestar.types import ASGIApp, HTTPScope, Message, Receive, Send

from api.answers.bodies import BodyBytes
from api.answers.responses import Finished
from api.callers.limits import Places
from api.callers.permissions import Principal
from api.edge.known_headers import KnownHeaders
from api.paths import base_path
from api.paths.base_path import reroute
from api.telemetry.logs import AccessLine, AccessLog, now
from api.telemetry.metrics import Metrics
from api.telemetry.shared_counts import REFUSED

MAX_REQUEST_ID = 128
_CLEAN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.:/+=@")
_numbers = itertools.count(1)
_prefix = secrets.token_hex(4)

Headers = Iterable[tuple[bytes, bytes]]


def request_id_of(headers: Headers) -> str:
    """The request id that the caller gave, if it is short and clean, or else a new one."""
    for name, value in headers:
        if name == b"x-request-id":
            clean = 0 < len(value) <= MAX_REQUEST_ID and _CLEAN.issuperset(value)
            return value.decode() if clean else new_request_id()
    return new_request_id()


def new_request_id() -> str:
    """A request id that is unique among all processes."""
    return f"{_prefix}-{next(_numbers)}"


class RequestRecorder:
    """Wraps the application, and logs and counts requests, refused ones of the server too."""

    def __init__(
        self,
        metrics: Metrics,
        access_log: AccessLog,
        read: Callable[[HTTPScope], Finished | None],
        bodies: Places,
        address_of: Callable[[HTTPScope], str],
    ) -> None:
        """`read` answers reads at once; see api.edge.quick_path.

        `bodies` are the bytes that the bodies of each caller's requests may have together.
        `address_of` tells the address of the client of a request.
        """
        self._metrics = metrics
        self._access_log = access_log
        self._read = read
        self.bodies = bodies
        self._address_of = address_of

    def answer(self, scope: HTTPScope) -> tuple[Finished, str] | None:
        """The answer to a read at once, and its request id; None where it takes a task."""
        started = time.perf_counter()
        request_id = _begin(scope)
        answer = self._read(scope)
        if answer is None:
            return None
        self._observe(scope, request_id, started, answer.status_code, len(answer.body))
        return answer, request_id

    def count_connections(self, number: int) -> None:
        """Remember how many connections the server has open."""
        self._metrics.count_connections(number)

    async def __call__(self, scope: HTTPScope, receive: Receive, send: Send, app: ASGIApp) -> None:
        """Answer a request, under an id that its headers, errors, events and log lines share."""
        request_id = _begin(scope)
        reroute(scope)
        scope["state"]["body"] = body = BodyBytes(self.bodies)
        started = time.perf_counter()
        # 499, as other servers log it, where the client left before there was a status.
        status, sent, position = 499, 0, None

        async def watch(message: Message) -> None:
            nonlocal status, sent, position
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = [*message.get("headers", ()), (b"x-request-id", request_id.encode())]
                message["headers"] = base_path.with_location_as_asked(scope, headers)
                position = _position(headers) if scope["method"] not in ("GET", "HEAD") else None
            elif message["type"] == "http.response.body":
                sent += len(message.get("body", b""))
            await send(message)

        try:
            await app(scope, receive, watch)
        finally:
            body.keep(0)
            self._observe(scope, request_id, started, status, sent, position)

    def _observe(
        self,
        scope: HTTPScope,
        request_id: str,
        started: float,
        status: int,
        sent: int,
        position: int | None = None,
    ) -> None:
        """Log and count a request that ends now."""
        seconds = time.perf_counter() - started
        route = scope.get("path_template") or ""
        method: str = scope["method"]
        if method not in _METHODS:
            # Callers cannot make up labels.
            method = "other"
        self._metrics.observe(method, route, status, seconds)
        if status in REFUSED:
            self._metrics.count_refusal(status, scope["state"].get("refusal", ""))
        if self._access_log.wanted:
            caller = scope.get("user")
            known = isinstance(caller, Principal)
            self._access_log.write(
                AccessLine(
                    level="info",
                    timestamp=now(),
                    request_id=request_id,
                    method=method,
                    route=route,
                    status=status,
                    ms=int(seconds * 1e6) / 1e3,
                    bytes=sent,
                    caller=caller.name if known else None,
                    roles=caller.roles if known else (),
                    position=position,
                    client=self._address_of(scope),
                    reason=scope["state"].get("refusal", ""),
                    tool=scope["state"].get("tool", ""),
                )
            )

    def refused(self, status: int, reason: str, client: str) -> str:
        """Log and count a request that its connection refused; returns a new request id.

        `client` is the address of the connection, whose head need not have come.
        """
        request_id = new_request_id()
        self._metrics.observe("", "", status, 0.0)
        if self._access_log.wanted:
            self._access_log.write(
                AccessLine(
                    "info", now(), request_id, "", "", status, 0.0, 0, client=client, reason=reason
                )
            )
        return request_id


def _begin(scope: HTTPScope) -> str:
    """Take the prefix of the base path off a request; returns its id, which its state then has."""
    if not scope["path"].startswith(base_path.USUAL):
        base_path.take_off_prefix(scope)
    headers, state = scope["headers"], scope.get("state", {})
    if type(headers) is not KnownHeaders:
        headers = scope["headers"] = KnownHeaders(headers)
    request_id: str = state.get("request_id") or (
        request_id_of(headers) if b"x-request-id" in headers.names else new_request_id()
    )
    # A dict of its own: a server may give the same one to all requests.
    scope["state"] = {**state, "request_id": request_id}
    return request_id


_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


def _position(headers: Headers) -> int | None:
    for name, value in headers:
        if name == b"x-catalog-position":
            return int(value)
    return None
