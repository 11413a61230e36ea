"""The middleware that guards every route."""

from typing import Any

from litestar.middleware import ASGIMiddleware
from litestar.routes import HTTPRoute
from litestar.types import ASGIApp, Receive, Scope, Send

from api.errors import Forbidden, Unauthorized
from api.limits import RateLimit
from api.permissions import PUBLIC, Permission, Principal
from api.policies import Policies
from api.refusals import Refusal
from api.responses import Finished
from api.tokens.verifier import TokenVerifier


class AccessMiddleware(ASGIMiddleware):
    """Lets a request through to its route only with the permission that the route declares."""

    def __init__(self, verifier: TokenVerifier, policies: Policies, rate_limit: RateLimit) -> None:
        self._verifier = verifier
        self._policies = policies
        self._rate_limit = rate_limit

    async def handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:
        """Refuse a request before anything else of it is parsed, or pass it on.

        Raises Unauthorized, TooManyRequests or Forbidden. Routes then find the caller in `user`,
        and what the caller may do in `auth`; for the access log, `refusal` in the state says why
        there is no caller.
        """
        handler = scope["route_handler"]
        # Litestar's own handler of OPTIONS declares nothing: any caller may ask for the methods.
        asks_methods = getattr(handler, "http_methods", None) == {"OPTIONS"}
        needed = handler.opt.get("permission")
        if needed != PUBLIC:
            try:
                principal = await self._authenticate(scope)
            except Unauthorized as error:
                scope["state"]["refusal"] = error.refusal.value
                raise
            scope["user"] = principal
            self._rate_limit.take(principal.name)
            access = self._policies.access(principal.roles)
            may = asks_methods or (isinstance(needed, Permission) and access.may(needed))
            if not may:
                raise Forbidden(f"{principal.name!r} has no permission to {needed}")
            scope["auth"] = access
        if asks_methods:
            # Litestar's own answer leaves out methods that were registered one by one.
            answer = Finished(b"", status_code=204, headers={"Allow": _methods(scope)})
            await answer(scope, receive, send)
            return
        await next_app(scope, receive, send)

    async def _authenticate(self, scope: Scope) -> Principal:
        headers = [value for name, value in scope["headers"] if name == b"authorization"]
        if len(headers) != 1:
            raise Unauthorized(Refusal.SEVERAL if headers else Refusal.NO_TOKEN)
        return await self._verifier.verify(headers[0])


def _methods(scope: Any) -> str:
    """The methods of the path that a request asks for, separated by commas."""
    return ", ".join(
        sorted(
            method
            for route in scope["litestar_app"].routes
            if isinstance(route, HTTPRoute) and route.path_format == scope["path_template"]
            for method in route.route_handler_map
        )
    )
