"""The query parameters that a route declares: their names, their checks, and a type of them all."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, cached_property, lru_cache
from types import MappingProxyType, NoneType
from typing import Annotated, Any, get_args, get_origin
from urllib.parse import parse_qsl, quote

import msgspec
from litestar import params

from api.declaring.near_names import meant_name
from api.paths.base_path import SLASH
from domain.errors import InvalidInput
from domain.kinds.bodies.refused_values import closed_values

Parameters = Mapping[str, tuple[Any, Any]]
"""Name -> (annotation, default); `...` for a required one."""


_SHOWN = 80
"""Number of characters of a refused name that the answer repeats."""
_OF_THE_PAST = frozenset({"at", "asOf"})
"""Parameters of reads of the past: whoever gives one is not to take the present for the past."""
_MAX_VALUES = 5
"""Number of values of a repeated parameter that a message shows."""
MOST_REMEMBERED, MOST_REMEMBERED_BYTES = 1_024, 256
"""Number of query strings that are remembered with their meaning, and the most bytes of each."""


class QueryParameter(params.QueryParameter):
    """A query parameter, hashed by identity: no two are the same, whatever they declare.

    The hash of Litestar's class goes through all of a declaration, and `typing` asks for it often.
    """

    __hash__ = object.__hash__


def query(
    hint: Any,
    description: str,
    default: Any = None,
    *,
    name: str | None = None,
    ge: int | None = None,
    le: int | None = None,
    schema: Mapping[str, Any] = MappingProxyType({}),
) -> tuple[Any, Any]:
    """The declaration of a query parameter, whose default is `...` if it is needed.

    `name` is what callers write, the argument in camelCase by default. `schema` has what the route
    checks of a value by itself, for the document.
    """
    about = QueryParameter(
        name=name, description=description, ge=ge, le=le, schema_extra=dict(schema)
    )
    return Annotated[hint | None if default is None else hint, about], default


@cache
def in_path(hint: Any) -> tuple[Any, Any]:
    """The declaration of a part of the path.

    There is one for each type: typing asks for its hash, for which Litestar goes through it all.
    """
    return Annotated[hint, params.PathParameter()], ...


def camel(argument: str) -> str:
    """The name of a parameter for callers: `from_` is `from`, `sort_field` is `sortField`."""
    first, *others = argument.rstrip("_").split("_")
    return "".join((first, *map(str.capitalize, others)))


def snake(name: str) -> str:
    """The snake_case spelling of a camelCase parameter."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


class DeclaredQuery:
    """Facts that follow from the parameters of a route, worked out when they are first asked for.

    There are hundreds of routes, most of which a process is never asked for.
    """

    def __init__(
        self,
        parameters: Parameters,
        unsupported: Mapping[str, str | None] | None = None,
        *,
        snake_too: bool = False,
    ) -> None:
        """`unsupported` are the parameters that a list refuses by their values: see
        api.declaring.unsupported_parameters. A list, or a write, refuses all that it does not
        know, too; where None is given, unknown parameters are ignored. With `snake_too` each may be
        given in snake_case as well.
        """
        self._parameters = parameters
        self._unsupported = unsupported
        self._snake_too = snake_too

    @cached_property
    def names(self) -> Mapping[str, str]:
        """Argument -> the name under which callers give it."""
        names = {}
        for argument, (hint, _) in self._parameters.items():
            default = camel(argument) if _is_of_query(hint) else argument
            names[argument] = get_args(hint)[1].name or default
        return names

    def documented(self) -> Iterator[tuple[str, Any, Any, params.QueryParameter]]:
        """Name, type, default and documentation of each query parameter; `...` if it is needed."""
        for argument, (hint, default) in self._parameters.items():
            if _is_of_query(hint):
                inner, meta = get_args(hint)
                yield self.names[argument], inner, default, meta

    def values(self, scope: Any) -> dict[str, Any]:
        """The values of all parameters of a request; raises as `of_query` and `of_path` do."""
        return {**self.of_query(scope), **self.of_path(scope)}

    def of_query(self, scope: Any) -> Mapping[str, Any]:
        """The values that the query string gives by argument, defaults included.

        Raises InvalidInput for a value that does not fit, a parameter that is missing or given
        twice, `null` for one that is no text, bytes that are no UTF-8, and an unknown one. Unknown
        parameters are ignored, except names that are nearly known ones; a list refuses them all,
        since one that is ignored might have narrowed or ordered it, and so does a write, which
        might have been meant as a dry run.
        """
        query_string = scope["query_string"]
        convert = _remembered if len(query_string) <= MOST_REMEMBERED_BYTES else DeclaredQuery._read
        try:
            return convert(self, query_string)
        except msgspec.ValidationError:
            raise self._wrong(scope) from None

    def of_path(self, scope: Any) -> dict[str, Any]:
        """The values that `path_params` of the scope give; raises InvalidInput for a wrong one."""
        if not self._in_path:
            return {}
        given = scope["path_params"]
        try:
            return {
                argument: given[argument].replace(SLASH, "/")
                if hint is str
                else msgspec.convert(given[argument], hint, strict=False)
                for argument, hint in self._in_path.items()
            }
        except msgspec.ValidationError:
            raise self._wrong(scope) from None

    def _wrong(self, scope: Any) -> InvalidInput:
        """The error of a request of which some parameters are wrong."""
        given = {**self._given(scope["query_string"]), **scope.get("path_params", {})}
        return InvalidInput(self._explain(scope, given))

    def _read(self, query_string: bytes) -> Mapping[str, Any]:
        """The values of a query string by argument; raises ValidationError and InvalidInput."""
        given: dict[str, Any] = {}
        for spelling, value in self._given(query_string).items() if query_string else ():
            name = self._spellings[spelling]
            if name in given:
                raise InvalidInput(f"{name} and {snake(name)} are one parameter; give it once")
            given[name] = value
        return msgspec.structs.asdict(msgspec.convert(given, self._struct, strict=False))

    def _given(self, query_string: bytes) -> dict[str, Any]:
        """The texts that a query string gives by spelling, lists of those that are lists.

        Msgspec takes `null` for no value, and of a parameter that is given twice one value would be
        passed over: both are refused, with InvalidInput, and so are bytes that are no UTF-8.
        """
        given: dict[str, Any] = {}
        for spelling, value in _pairs(query_string.decode("latin-1")):
            name = self._spellings.get(spelling)
            if name is None:
                self._refuse_unknown(_readable(spelling), _readable(value))
            elif wrong := _NO_TEXT.search(value):
                byte = quote(wrong[0], errors="surrogateescape")
                raise InvalidInput(
                    f"{spelling} must be UTF-8, but {byte} in it stands for no character"
                )
            elif list in self._types[name]:
                given.setdefault(spelling, []).append(value)
            elif spelling in given:
                raise InvalidInput(f"{spelling} may be given once")
            elif str not in self._types[name] and value.lower() == "null":
                raise InvalidInput(f"{spelling} must be left out or have a value, got {value!r}")
            else:
                given[spelling] = value
        return given

    def _explain(self, scope: Any, given: Mapping[str, Any]) -> str:
        """Name the given texts that are wrong, and say what is allowed."""
        problems = []
        for argument, (hint, default) in self._parameters.items():
            name = self.names[argument]
            spelling = name if name in given or not self._snake_too else snake(name)
            if spelling not in given:
                if default is ...:
                    query = scope["query_string"].decode("latin-1")
                    path = f"{scope['path']}?{query}" if query else scope["path"]
                    return f"Missing required query parameter {name!r} for path {path}"
                continue
            try:
                msgspec.convert(given[spelling], _constrained(hint), strict=False)
            except msgspec.ValidationError as error:
                hint = get_args(hint)[0]
                problems.append(_explain_one(spelling, given[spelling], hint, str(error)))
        return "; ".join(problems)

    def _refuse_unknown(self, name: str, value: str) -> None:
        if self._unsupported is not None and name in self._unsupported:
            if value.lower() == (allowed := self._unsupported[name]):
                return
            accepted = f"; only {allowed!r} is accepted" if allowed else ""
            raise InvalidInput(
                f"{name} narrows or orders this list in OpenMetadata, but not here{accepted}"
            )
        shown = repr(name[:_SHOWN])
        if meant := meant_name(name, self._spellings):
            raise InvalidInput(f"unknown parameter {shown}: did you mean {meant!r}?")
        if self._unsupported is not None:
            known = ", ".join(self._spellings) or "none"
            takes = "list" if "limit" in self._spellings else "request"
            raise InvalidInput(f"unknown parameter {shown}: this {takes} takes {known}")
        if name in _OF_THE_PAST:
            raise InvalidInput(f"unknown parameter {shown}: this request is of the present alone")

    @cached_property
    def _spellings(self) -> Mapping[str, str]:
        """The spellings that callers may write for a query parameter -> its name."""
        spellings: dict[str, str] = {}
        for argument, (hint, _) in self._parameters.items():
            if _is_of_query(hint):
                name = self.names[argument]
                spellings |= dict.fromkeys(
                    (name, snake(name)) if self._snake_too else (name,), name
                )
        return spellings

    @cached_property
    def _types(self) -> Mapping[str, set[Any]]:
        return {self.names[name]: _types(hint) for name, (hint, _) in self._parameters.items()}

    @cached_property
    def _struct(self) -> type[msgspec.Struct]:
        """A type of the query parameters by argument, each with its default."""
        fields = [
            (argument, _constrained(hint), *(() if default is ... else (default,)))
            for argument, (hint, default) in self._parameters.items()
            if _is_of_query(hint)
        ]
        return msgspec.defstruct("Query", fields, kw_only=True, frozen=True, rename=self.names)

    @cached_property
    def _in_path(self) -> Mapping[str, Any]:
        """Argument -> type of what the path gives."""
        return {
            argument: _constrained(hint)
            for argument, (hint, _) in self._parameters.items()
            if not _is_of_query(hint)
        }


is_unfiltered = re.compile(rb"(?:(?:limit|before|after|fields|include)=[\w,-]*(?:&|\Z))*").fullmatch
"""Matches query strings for a list that certainly name no filter; others may name none either."""

_MAY_HAVE_CURSOR = re.compile(rb"[%+]|(?:before|after)=").search
"""Percent signs and plus signs may stand for other characters."""
_NO_TEXT = re.compile("[\udc80-\udcff]")
"""Finds a byte that is no UTF-8 in a value of `_pairs`."""
_CURSORS = {b"before": "before", b"after": "after"}


@lru_cache(MOST_REMEMBERED)
def _is_plain(form: bytes) -> bool:
    """True if a short query string certainly has no cursor."""
    return _MAY_HAVE_CURSOR(form) is None


def split_cursor(query_string: bytes) -> tuple[bytes, dict[str, str]]:
    """A query string without the page cursor at its end, and the cursor by its argument.

    If the cursor stands elsewhere, or is not spelled as lists spell it, or if the query string is
    long, it is returned as it is, without a cursor.
    """
    start, _, cursor = query_string.rpartition(b"=")
    form, _, name = start.rpartition(b"&")
    argument = _CURSORS.get(name)
    is_spelled = cursor.translate(None, b"-_").isalnum()
    is_short = len(form) <= MOST_REMEMBERED_BYTES
    if argument is None or not (is_spelled and is_short and _is_plain(form)):
        return query_string, {}
    return form, {argument: cursor.decode()}


def _pairs(query: str) -> Iterable[tuple[str, str]]:
    """The names and values of a query string in order, empty values included.

    Bytes that are no UTF-8 are lone surrogates, as `surrogateescape` has them.
    """
    if "%" in query or "+" in query:
        return parse_qsl(query, keep_blank_values=True, errors="surrogateescape")
    # There is nothing to decode: this takes a tenth of the time of `parse_qsl`.
    parts = (part.partition("=") for part in query.split("&") if part)
    return [(name, value) for name, _, value in parts]


def _readable(text: str) -> str:
    """A text of `_pairs` with a replacement character for each byte that is no UTF-8."""
    return text.encode(errors="surrogateescape").decode(errors="replace")


_remembered = lru_cache(MOST_REMEMBERED)(DeclaredQuery._read)
"""The result of `_read`, which is remembered for the query strings asked last."""


_EXPECTED_TYPES = {"int": "a whole number", "float": "a number", "bool": "true or false"}
_EXPECTED = re.compile(
    rf"Expected ({'|'.join(_EXPECTED_TYPES)})(?: \| null)?(?:, got \w+)?( [<>]=? \S+)?"
)
"""Matches msgspec's message about a parameter; the type that it says was given is always text."""


def _explain_one(name: str, given: Any, hint: Any, error: str) -> str:
    """Say what is wrong with the value of a parameter, as msgspec says it, and what is allowed."""
    values = given if isinstance(given, list) else [given]
    shown = ", ".join(repr(str(value)[:64]) for value in values[:_MAX_VALUES])
    if choices := list(closed_values(hint)):
        return f"{name} must be one of {', '.join(choices)}, got {shown}"
    message = error.split(" - ", maxsplit=1)[0].replace("`", "")
    if expected := _EXPECTED.fullmatch(message):
        return f"{name} must be {_EXPECTED_TYPES[expected[1]]}{expected[2] or ''}, got {shown}"
    return f"{name}: {message}, got {shown}"


def _constrained(hint: Any) -> Any:
    """The type of a parameter, with the bounds that a whole number may have, for msgspec."""
    inner, meta = get_args(hint)
    bounds = {bound: getattr(meta, bound) for bound in ("ge", "le")}
    if all(bound is None for bound in bounds.values()):
        return inner
    # Msgspec takes bounds of a number, but not of a number or None.
    bounded: Any = Annotated[int, msgspec.Meta(**bounds)]
    return bounded | None if NoneType in get_args(inner) else bounded


def _is_of_query(hint: Any) -> bool:
    """Return True if an annotation is that of a query parameter."""
    return isinstance(get_args(hint)[1], params.QueryParameter)


def _types(hint: Any) -> set[Any]:
    """The types inside an annotation, which has one or alternatives."""
    inner = hint.__origin__
    alternatives = get_args(inner) if NoneType in get_args(inner) else (inner,)
    return {get_origin(each) or each for each in alternatives}
