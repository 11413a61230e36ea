"""Writes that go straight to the function of their route, past Litestar's router and signature.

The way through them takes as long as deciding on the write. What is plain is taken here: a known
path, a token that was verified before, the permission, no query. The function is the route's own,
and errors become responses by the same function. Everything else is left to the route.
"""

from collections.abc import Iterable
from functools import partial
from typing import Any

import msgspec
from litestar import Request
from litestar.handlers import HTTPRouteHandler
from litestar.types import ASGIApp, Receive, Scope, Send

from api.callers.permissions import Permission
from api.edge.access import Guard
from api.edge.direct_reads import PLAIN_HOST, TYPE_IN_PATH
from api.errors import render
from domain.event_store.port import ID_CHARACTERS

_ONE = "/{entity_id:str}"
"""How the path ends of what is done to one entity."""


_NO_WRITES = frozenset({"GET", "HEAD", "OPTIONS"})


class _Target(msgspec.Struct, frozen=True):
    """A route that is not asked for the writes that are meant for it."""

    handler: HTTPRouteHandler
    template: str
    permission: Permission


class DirectWrites:
    """Finds what answers plain writes: those of a collection, and those of an entity by id."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._whole: dict[tuple[str, str], _Target] = {}
        """Method and path -> the route there."""
        self._items: dict[tuple[str, str], _Target] = {}
        """Method and path up to its last slash -> the route of the entity that the rest names."""

    def add(self, handlers: Iterable[HTTPRouteHandler]) -> None:
        """Find these from now on, as far as they are plain writes."""
        for handler in handlers:
            (path,) = handler.paths
            permission = handler.opt.get("permission")
            start = path.removesuffix(_ONE)
            if isinstance(permission, Permission) and "{" not in start:
                target = _Target(handler, TYPE_IN_PATH.sub("}", path), permission)
                targets = self._whole if start == path else self._items
                for method in handler.http_methods - _NO_WRITES:
                    targets[method, start] = target

    def application(self, scope: Any) -> ASGIApp | None:
        """What answers a request, whose scope then has the caller in it; None for the route.

        A token of the caller's rate limit is taken only together with that.
        """
        if scope["query_string"]:
            return None
        method, path, values = scope["method"], scope["path"], {}
        target = self._whole.get((method, path))
        if target is None:
            start, _, named = path.rpartition("/")
            target = self._items.get((method, start))
            if target is None or len(named) != ID_CHARACTERS or b"%" in scope["raw_path"]:
                return None
            values = {"entity_id": named}
        if any(name == b"host" and not PLAIN_HOST(value) for name, value in scope["headers"]):
            return None
        if self._guard.admit_known(scope, target.permission) is None:
            return None
        scope["path_template"] = target.template
        query = target.handler.opt["query"]
        return partial(_answer, target.handler.fn, {**query.defaults, **values})


async def _answer(
    function: Any, values: dict[str, Any], scope: Scope, receive: Receive, send: Send
) -> None:
    """Answer a request by the function of a route, given its parameters but for the request."""
    request = Request[Any, Any, Any](scope, receive, send)
    try:
        response = await function(request=request, **values)
    except Exception as error:
        response = render(request, error).to_asgi_response(app=None, request=request)
    await response(scope, receive, send)
