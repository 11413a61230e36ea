"""The middleware that guards every route."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from litestar.routes import HTTPRoute
from litestar.types import ASGIApp, Receive, Scope, Send

from api.answers.read_positions import RAW_HEADER, ReadPositions, may_wait
from api.answers.responses import Finished
from api.callers.limits import RateLimit
from api.callers.permissions import PUBLIC, SIGNED_IN, Permission, Principal
from api.callers.policies import Policies
from api.callers.tokens.verifier import TokenVerifier
from api.edge.known_headers import API_KEY, KnownHeaders
from api.errors import Forbidden, Unauthorized
from api.paths.base_path import has_prefix
from api.refusals import Refusal
from domain.openmetadata.status_names import OPENMETADATA, OWN

Headers = Iterable[tuple[bytes, bytes]]
Authorize = Callable[[Headers], bytes]
"""Finds in the headers of a request what an Authorization header would say; raises Unauthorized."""


class Guard:
    """Admits callers: finds who they are and what they may do, and limits how often they ask.

    An admitted caller is put into the scope of the request as `user`, and the caller's rights as
    `auth`. A request that has both was admitted before, and is not counted again.
    """

    def __init__(
        self,
        verifier: TokenVerifier,
        policies: Policies,
        rate_limit: RateLimit,
        positions: ReadPositions,
        challenges: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """`challenges`: path -> what a refusal for want of a token adds to its challenge there."""
        self._challenges = challenges
        self._verifier = verifier
        self._policies = policies
        self._rate_limit = rate_limit
        self._positions = positions

    async def admit(
        self, scope: Scope, needed: object, authorize: Authorize, *, asks_methods: bool = False
    ) -> None:
        """Let a request in that may do what is `needed`, a read once it includes its position.

        `authorize` finds the token of the request. Raises Unauthorized, TooManyRequests or
        Forbidden, and what `ReadPositions.wait` raises; `refusal` in the scope's state then says
        why there is no caller. Any caller may ask for the methods of a path.
        """
        if "auth" not in scope and (asks_methods or needed != PUBLIC):
            try:
                principal = await self._verifier.verify(authorize(scope["headers"]))
            except Unauthorized as error:
                scope["state"]["refusal"] = error.refusal.value
                scope["state"]["challenge"] = self._challenges.get(scope["path"], "")
                raise
            self._let_in(scope, principal, needed, asks_methods=asks_methods)
        if not asks_methods and may_wait(needed):
            await self._positions.wait(scope, needed)

    def admit_at_once(self, scope: Any, needed: object) -> bool:
        """Let a request in as `admit` does, unless that takes a task; returns whether it is in.

        A task is needed if the token was not verified lately, or if the request must wait for a
        position. Raises TooManyRequests or Forbidden.
        """
        headers: KnownHeaders = scope["headers"]
        if headers.authorization is None:
            return False
        try:
            principal = self._verifier.remembered(headers.authorization)
        except Unauthorized:
            return False
        if principal is None:
            return False
        self._let_in(scope, principal, needed)
        return (
            RAW_HEADER not in headers.names
            or not may_wait(needed)
            or self._positions.have_passed(headers, needed)
        )

    def _let_in(
        self, scope: Scope, principal: Principal, needed: object, *, asks_methods: bool = False
    ) -> None:
        scope["user"] = principal
        self._rate_limit.take(principal.name)
        statuses = OPENMETADATA if has_prefix(scope) else OWN
        access = self._policies.access(principal.roles, statuses)
        may = needed == SIGNED_IN or (isinstance(needed, Permission) and access.may(needed))
        if not (asks_methods or may):
            raise Forbidden(f"{principal.name!r} has no permission to {needed}")
        scope["auth"] = access


def in_header(headers: Headers) -> bytes:
    """The only Authorization header, or what an `X-Api-Key` stands for; datacontract-cli sends one.

    Raises Unauthorized without either, or with several.
    """
    values = [
        b"Bearer " + value if name == API_KEY else value
        for name, value in headers
        if name in (b"authorization", API_KEY)
    ]
    if len(values) != 1:
        raise Unauthorized(Refusal.SEVERAL if values else Refusal.NO_TOKEN)
    return values[0]


class AccessMiddleware:
    """Lets a request through to its route only with the permission that the route declares.

    Litestar asks it for an application before each of hundreds of routes, so it is a plain one:
    what Litestar's own base class makes each time is a tenth of what a start makes.
    """

    def __init__(self, guard: Guard, in_cookie: Authorize) -> None:
        """`in_cookie` finds the token of a session, which pages take and no other route."""
        self._guard = guard
        self._in_cookie = in_cookie

    def __call__(self, app: ASGIApp) -> ASGIApp:
        """Wrap the application of a route."""

        async def checked(scope: Scope, receive: Receive, send: Send) -> None:
            await self._handle(scope, receive, send, app)

        return checked

    async def _handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:
        """Refuse a request before anything else of it is parsed, or pass it on.

        Raises what `Guard.admit` raises. Routes then find the caller in `user`, and what the caller
        may do in `auth`.
        """
        handler = scope["route_handler"]
        asks_methods = scope.get("method") == "OPTIONS"
        needed = handler.opt.get("permission")
        if callable(needed):
            # The permission for a page follows from its address.
            needed = needed(scope)
        # No browser asks a page for its methods with a session: programs do, with their tokens.
        in_session = handler.opt.get("page") and not asks_methods
        authorize = self._in_cookie if in_session else in_header
        await self._guard.admit(scope, needed, authorize, asks_methods=asks_methods)
        if asks_methods:
            # Litestar's own answer leaves out methods that were registered one by one.
            answer = Finished(b"", status_code=204, headers={"Allow": _methods(scope)})
            await answer(scope, receive, send)
            return
        await next_app(scope, receive, send)


def _methods(scope: Any) -> str:
    """The methods of the path that a request asks for, separated by commas."""
    return ", ".join(
        sorted(
            method
            for route in scope["litestar_app"].routes
            if isinstance(route, HTTPRoute) and route.path_format == scope["path_template"]
            for method, (handler, _) in route.route_handler_map.items()
            # One route may stand for paths of different forms, which have different methods.
            if method == "OPTIONS" or (fits := handler.opt.get("fits")) is None or fits(scope)
        )
    )
