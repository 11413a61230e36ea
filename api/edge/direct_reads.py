"""Reads that go straight from the request line to the finished bytes, past Litestar's router.

Lists of small pages and single small entities, asked for in the plain form in which clients ask for
them, are most of what a catalog answers, and the way through router, middleware and signature of
the framework takes longer than reading them. They are answered here by the function that their
route calls as well, after the same checks.

Whatever is not plain is left to the route: an unknown or malformed parameter, a token that is not
known yet, a missing permission, an entity that does not exist, a page that takes long, a position
to be waited for. So nothing is refused here, and one place says what was wrong with a request.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from litestar.handlers import HTTPRouteHandler

from api.answers.compression import COMPRESSED_FROM, accepts_gzip
from api.answers.read_positions import RAW_HEADER, ReadPositions
from api.answers.remembered_answers import RememberedAnswers, key_of
from api.answers.responses import Finished
from api.declaring.signatures import DirectRead
from api.edge.access import Guard

PLAIN_HOST = re.compile(rb"[0-9A-Za-z.:\[\]-]*").fullmatch
"""Whether a Host header is one that the framework takes too."""
TYPE_IN_PATH = re.compile(r":[a-z]+\}")
"""The type of a parameter in a path, which the template of the path does not show."""
MOST_CACHED, MOST_CACHED_BYTES = 1_024, 256
"""How many query strings are remembered with what they mean, and how long each may be."""


class _Target(msgspec.Struct, frozen=True):
    """A route that direct reads answer for."""

    template: str
    direct: DirectRead


class DirectReads:
    """Answers plain requests for the routes that declare a direct read in their options."""

    def __init__(
        self,
        handlers: Iterable[HTTPRouteHandler],
        guard: Guard,
        answers: RememberedAnswers,
        positions: ReadPositions,
    ) -> None:
        self._guard = guard
        self._positions = positions
        self._answers = answers
        self._lists: dict[str, _Target] = {}
        """Path -> the list there."""
        self._items: dict[str, _Target] = {}
        """Path up to its last slash -> the entity that the rest of the path names."""
        self._parsed: dict[tuple[str, bytes], Mapping[str, Any]] = {}
        self.add(handlers)

    def add(self, handlers: Iterable[HTTPRouteHandler]) -> None:
        """Answer for more routes from now on: those of these handlers that declare it."""
        for handler in handlers:
            if (direct := handler.opt.get("direct")) is not None:
                (template,) = handler.paths
                target = _Target(TYPE_IN_PATH.sub("}", template), direct)
                start, brace, _ = template.partition("{")
                (self._items if brace else self._lists)[start.rstrip("/")] = target

    def answer(self, scope: Any) -> Finished | None:
        """The answer to a request, whose scope then has the caller in it; None where the route must
        answer, or what the scope has under `made`: an answer that takes a task to be sent.

        Takes a token of the caller's rate limit only together with putting the caller's access into
        the scope, so that the route takes no second one.
        """
        # A request that has been admitted was tried before, when its head had come.
        if scope["method"] != "GET" or "auth" in scope:
            return None
        path: str = scope["path"]
        target, named = self._lists.get(path), ""
        if target is None:
            start, _, named = path.rpartition("/")
            target = self._items.get(start)
            if target is None or not named or b"%" in scope["raw_path"]:
                return None
        condition, encoded, positioned = False, False, False
        for name, value in scope["headers"]:
            if name == b"host" and not PLAIN_HOST(value):
                return None
            if name == b"if-none-match":
                condition = True
            elif name == b"accept-encoding":
                encoded = True
            elif name == RAW_HEADER:
                positioned = True
        values = self._values(target, scope["query_string"])
        if values is None:
            return None
        admitted = self._guard.admit_known(scope, target.direct.permission)
        if admitted is None:
            return None
        if positioned and not self._positions.have_passed(
            scope["headers"], target.direct.permission
        ):
            return None
        scope["path_template"] = target.template
        access = scope["auth"]
        key = key_of(scope)
        try:
            revision = target.direct.revision()
            answer = self._answers.get(key, revision)
            if answer is None:
                answer = target.direct.read(scope, access, named, values)
                if answer is not None:
                    self._answers.keep(key, revision, answer)
        except Exception:
            # The route meets it as well, and answers with it.
            return None
        if answer is None:
            return None
        if encoded and len(answer.body) >= COMPRESSED_FROM and accepts_gzip(scope["headers"]):
            # To be compressed in a thread, which takes a task.
            scope["made"] = answer
            return None
        return answer.unless(scope["headers"]) if condition and answer.conditional else answer

    def _values(self, target: _Target, query_string: bytes) -> Mapping[str, Any] | None:
        """The parameters of a query string by argument, defaults included; None for any problem."""
        key = target.template, query_string
        values = self._parsed.get(key)
        if values is None:
            values = _parse(target, query_string)
            if values is not None and len(query_string) <= MOST_CACHED_BYTES:
                if len(self._parsed) >= MOST_CACHED:
                    self._parsed.clear()
                self._parsed[key] = values
        return values


def _parse(target: _Target, query_string: bytes) -> Mapping[str, Any] | None:
    pairs = parse_qsl(query_string.decode("latin-1"), keep_blank_values=True)
    given = dict(pairs)
    if len(given) < len(pairs) or not given.keys() <= target.direct.query.allowed:
        return None
    # Msgspec takes `null` for no value.
    if any(value.lower() == "null" for value in given.values()):
        return None
    try:
        return msgspec.structs.asdict(
            msgspec.convert(given, target.direct.query.struct, strict=False)
        )
    except msgspec.ValidationError:
        return None
