"""The quick path: plain requests for JSON routes, in the form in which clients send them.

Finding a route in Litestar's router, and the models of its parameters, take as long as most reads
and as deciding on a write. The quick path finds a route by its method and path alone, and does with
the request what Litestar's way does: the same guard lets it in, the same `JsonRoute` answers it,
and the same function makes errors into answers. Which way a request goes depends on its method, its
path and its Host header, and on nothing that came before.

A read may be answered at once by the connection that it comes from (`api.edge.answering`), without
a task. A read that turns out to need a task goes on in it from the point that the quick path
reached: with the caller who was admitted, or with the answer that is still to be sent.
"""

from collections.abc import Iterable
from functools import partial
from typing import Any

from litestar import Request
from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse
from litestar.types import ASGIApp, Message, Receive, Send

from api.answers.compression import COMPRESSED_FROM, accepts_gzip
from api.answers.remembered_answers import RememberedAnswers, key_of
from api.answers.responses import Finished
from api.callers.permissions import Permission
from api.declaring.signatures import AnyRequest, JsonRoute
from api.edge.access import Guard, in_header
from api.errors import render
from domain.event_store.stored import ID_CHARACTERS

_FQN = "fqn"
_ENDINGS = ("/{entity_id}", f"/name/{{{_FQN}}}")
"""Endings of the path templates that name one entity; the part before them has no parameter."""


class QuickPath:
    """Answers the plain requests for the routes that it was given."""

    def __init__(self, guard: Guard, answers: RememberedAnswers) -> None:
        self._guard = guard
        self._answers = answers
        self._whole: dict[tuple[str, str], JsonRoute] = {}
        """Method and path -> the route there."""
        self._items: dict[tuple[str, str], tuple[JsonRoute, str]] = {}
        """Method and path up to its last slash -> a route, and the parameter that the rest is."""

    def add(self, handlers: Iterable[HTTPRouteHandler]) -> None:
        """Answer plain requests for more routes from now on, as far as these have plain forms."""
        for handler in handlers:
            route = handler.opt.get("route")
            permission = handler.opt.get("permission")
            if route is None or handler.opt.get("page") or not isinstance(permission, Permission):
                continue
            start, brace, parameter = route.template.partition("{")
            for method in handler.http_methods - {"OPTIONS"}:
                if not brace:
                    self._whole[method, start] = route
                elif route.template.endswith(_ENDINGS) and "/" not in parameter:
                    self._items[method, start.rstrip("/")] = route, parameter.rstrip("}")

    def answer(self, scope: Any) -> Finished | None:
        """The answer to a read that can be sent whole at once; None where it takes a task.

        In that case `application` goes on with what this attempt has left in the scope.
        """
        route = self._find(scope)
        if route is None:
            return None
        try:
            if not self._guard.admit_at_once(scope, route.permission):
                return None
            response = self._started(route, scope)
        except Exception as error:
            response = _rendered(Request(scope), error)
        if type(response) is Finished:
            headers = scope["headers"]
            # A thread compresses answers, which takes a task.
            if len(response.body) < COMPRESSED_FROM or not accepts_gzip(headers):
                return response.unless(headers) if response.conditional else response
        scope["made"] = response
        return None

    def application(self, scope: Any) -> ASGIApp | None:
        """Return the application that answers a request in its task, or None for Litestar's."""
        route = self._find(scope)
        return None if route is None else partial(self._answer, route)

    async def _answer(self, route: JsonRoute, scope: Any, receive: Receive, send: Send) -> None:
        """Answer a request, or send the answer that was made before this task."""
        has_begun = False

        async def watched(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            response = scope.pop("made", None)
            if response is None:
                await self._guard.admit(scope, route.permission, in_header)
                response = self._started(route, scope)
            await response(scope, receive, watched)
        except Exception as error:
            if has_begun:
                raise
            await _rendered(Request(scope), error)(scope, receive, send)

    def _started(self, route: JsonRoute, scope: Any) -> ASGIResponse:
        """The answer to a request, remembered or new; raises what `JsonRoute.start` raises."""
        if not route.is_remembered or not self._answers.is_worth_keeping(key := key_of(scope)):
            return route.start(scope)
        # Read before the answer is made: a commit meanwhile makes the answer newer, never older.
        revision = route.revision(scope)
        answer = self._answers.get(key, revision)
        if answer is not None:
            return answer
        started = route.start(scope)
        if type(started) is Finished:
            self._answers.keep(key, revision, started)
        return started

    def _find(self, scope: Any) -> JsonRoute | None:
        """The route of a plain request, whose parameters of the path the scope then has."""
        method, path = scope["method"], scope["path"]
        route, values = self._whole.get((method, path)), {}
        if route is None:
            start, _, named = path.rpartition("/")
            item = self._items.get((method, start))
            if item is None or b"%" in scope["raw_path"]:
                return None
            route, parameter = item
            if not named or (parameter != _FQN and len(named) != ID_CHARACTERS):
                return None
            values = {parameter: named}
        if not scope["headers"].has_plain_host:
            return None
        scope["path_template"], scope["path_params"] = route.template, values
        return route


def _rendered(request: AnyRequest, error: Exception) -> ASGIResponse:
    return render(request, error).to_asgi_response(app=None, request=request)
