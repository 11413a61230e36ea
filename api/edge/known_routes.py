"""Tells which routes there are, where a request is for one that there is not."""

from collections.abc import Iterable
from typing import Any

from litestar.exceptions import HTTPException
from litestar.routes import BaseRoute, HTTPRoute

from api.declaring.operation import Operation
from api.declaring.signatures import AnyRequest
from domain.errors import NotFound
from domain.kinds.registry import KINDS

_COLLECTIONS = {f"/v1/{kind.collection}": kind.name for kind in KINDS.values()}
"""Path of a collection -> its kind; none of them goes on where another ends."""
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_NAME = "{fqn"
"""Beginning of the parameter of a path that is a qualified name, whose slashes are a part of it."""


def routes_instead(routes: Iterable[BaseRoute], request: AnyRequest, error: Exception) -> str:
    """The routes at and below the collection of a path that has no route, as a sentence; else "".

    A path that goes on behind a name has none either: what follows is taken for a part of the name
    unless its slash is percent-encoded, and is not found.
    """
    path = f"{request.scope['path']}/"
    collection = next((each for each in _COLLECTIONS if path.startswith(f"{each}/")), None)
    if collection is None:
        return ""
    if isinstance(error, HTTPException):
        if error.status_code not in (404, 405):
            return ""
    elif not (
        isinstance(error, NotFound)
        # What else is not found stands behind the key that refers to it.
        and error.message.startswith(f"{_COLLECTIONS[collection]} instance for ")
        and _goes_on_behind_name(request.scope)
    ):
        return ""
    known = []
    for route in routes:
        if isinstance(route, HTTPRoute) and f"{route.path_format}/".startswith(f"{collection}/"):
            known.append(_shown(route, collection))
    return f"at {collection} there are {', '.join(sorted(known))}"


def _goes_on_behind_name(scope: Any) -> bool:
    """Return True if the qualified name in a path has a slash that is not percent-encoded."""
    before, name, _ = scope.get("path_template", "").partition(_NAME)
    raw: bytes = scope["raw_path"].partition(b"?")[0]
    return bool(name) and b"/" in raw[len(before) :]


def _shown(route: HTTPRoute, collection: str) -> str:
    """A route behind the path of its collection, with its methods."""
    handlers = {str(method): handler for method, (handler, _) in route.route_handler_map.items()}
    methods = [each for each in _METHODS if each in handlers]
    operation: Operation | None = handlers[methods[0]].opt.get("operation") if methods else None
    path = (operation and operation.path) or route.path_format
    return f"{path.removeprefix(collection)} ({', '.join(methods)})".strip()
