"""The middleware that guards every route."""

from collections.abc import Callable, Iterable
from typing import Any

from litestar.routes import HTTPRoute
from litestar.types import ASGIApp, Receive, Scope, Send

from api.answers.read_positions import ReadPositions, may_wait
from api.answers.responses import Finished
from api.callers.limits import RateLimit
from api.callers.permissions import PUBLIC, SIGNED_IN, Permission, Principal
from api.callers.policies import Policies
from api.callers.tokens.verifier import TokenVerifier
from api.errors import Forbidden, TooManyRequests, Unauthorized
from api.refusals import Refusal

Headers = Iterable[tuple[bytes, bytes]]
Authorize = Callable[[Headers], bytes]
"""Finds in the headers of a request what an Authorization header would say; raises Unauthorized."""


class Guard:
    """Admits callers: checks their token, their rate of requests and their permission."""

    def __init__(self, verifier: TokenVerifier, policies: Policies, rate_limit: RateLimit) -> None:
        self._verifier = verifier
        self._policies = policies
        self._rate_limit = rate_limit

    async def admit(
        self, scope: Scope, needed: object, authorize: Authorize, *, asks_methods: bool
    ) -> None:
        """Put the caller and what the caller may do into the scope, as `user` and `auth`.

        `authorize` finds the token of the request. Raises Unauthorized, TooManyRequests or
        Forbidden; `refusal` in the scope's state then says why there is no caller. Any caller may
        ask for the methods of a path.
        """
        try:
            principal = await self._verifier.verify(authorize(scope["headers"]))
        except Unauthorized as error:
            scope["state"]["refusal"] = error.refusal.value
            raise
        scope["user"] = principal
        self._rate_limit.take(principal.name)
        access = self._policies.access(principal.roles)
        may = needed == SIGNED_IN or (isinstance(needed, Permission) and access.may(needed))
        if not (asks_methods or may):
            raise Forbidden(f"{principal.name!r} has no permission to {needed}")
        scope["auth"] = access

    def admit_known(self, scope: Scope, needed: Permission) -> Principal | None:
        """Do as `admit` does for a caller whose token was verified lately; None in all other cases.

        Where nobody is admitted, the scope is as before and nothing is taken from the rate limit.
        """
        try:
            principal = self._verifier.remembered(in_header(scope["headers"]))
            if principal is None:
                return None
            access = self._policies.access(principal.roles)
            if not access.may(needed):
                return None
            self._rate_limit.take(principal.name)
        except (Unauthorized, TooManyRequests):
            return None
        scope["user"], scope["auth"] = principal, access
        return principal


def in_header(headers: Headers) -> bytes:
    """The only Authorization header; raises Unauthorized without one, or with several."""
    values = [value for name, value in headers if name == b"authorization"]
    if len(values) != 1:
        raise Unauthorized(Refusal.SEVERAL if values else Refusal.NO_TOKEN)
    return values[0]


class AccessMiddleware:
    """Lets a request through to its route only with the permission that the route declares.

    Litestar asks it for an application before each of hundreds of routes, so it is a plain one:
    what Litestar's own base class makes each time is a tenth of what a start makes.
    """

    def __init__(self, guard: Guard, positions: ReadPositions, in_cookie: Authorize) -> None:
        """`in_cookie` finds the token of a session, which pages take and no other route."""
        self._guard = guard
        self._positions = positions
        self._in_cookie = in_cookie

    def __call__(self, app: ASGIApp) -> ASGIApp:
        """Wraps the application of a route."""

        async def checked(scope: Scope, receive: Receive, send: Send) -> None:
            await self._handle(scope, receive, send, app)

        return checked

    async def _handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:
        """Refuse a request before anything else of it is parsed, or pass it on.

        A read passes once it includes the position that it names. Raises Unauthorized, Forbidden,
        TooManyRequests and what `ReadPositions.wait` raises. Routes then find the caller in `user`,
        and what the caller may do in `auth`.
        """
        handler = scope["route_handler"]
        # Any caller may ask for the methods.
        asks_methods = scope.get("method") == "OPTIONS"
        needed = handler.opt.get("permission")
        if callable(needed):
            # That of a page follows from its address.
            needed = needed(scope)
        # A direct read that left the answer to this route has admitted the caller already.
        if (asks_methods or needed != PUBLIC) and "auth" not in scope:
            authorize = self._in_cookie if handler.opt.get("page") else in_header
            await self._guard.admit(scope, needed, authorize, asks_methods=asks_methods)
        if asks_methods:
            # Litestar's own answer leaves out methods that were registered one by one.
            answer = Finished(b"", status_code=204, headers={"Allow": _methods(scope)})
            await answer(scope, receive, send)
            return
        if may_wait(needed):
            await self._positions.wait(scope, needed)
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
