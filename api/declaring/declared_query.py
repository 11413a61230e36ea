"""The query parameters that a route declares: their names, their checks, and a type of them all."""

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, get_args, get_origin

import msgspec
from litestar import Request, params

from api.declaring.near_names import meant_name
from api.declaring.unsupported_parameters import refuse_unsupported
from domain.errors import InvalidInput

Parameters = Mapping[str, tuple[Any, Any]]
"""Name -> (annotation, default); `...` for a required one."""


_SHOWN = 80
"""How many characters of a refused name the answer repeats."""


class QueryParameter(params.QueryParameter):
    """A query parameter; no two are the same, whatever they say.

    Litestar's have one hash, made by going through all that they say, and typing asks for it. It
    leaves a lower bound of 0 out of what it documents where the parameter may be absent.
    """

    def __init__(self, **said: Any) -> None:
        if said.get("ge") == 0:
            said["schema_extra"] = {"minimum": 0, **said.get("schema_extra", {})}
        super().__init__(**said)

    __hash__ = object.__hash__


class DeclaredQuery:
    """What follows from the parameters of a route, worked out when it is first asked for.

    There are hundreds of routes, most of which a process is never asked for.
    """

    def __init__(
        self, parameters: Parameters, unsupported: Mapping[str, str | None] | None = None
    ) -> None:
        """`unsupported` are the parameters that a list refuses by their values: see
        api.declaring.unsupported_parameters. A list refuses all that it does not know, too; where
        None is given, unknown parameters are ignored.
        """
        self._parameters = parameters
        self._unsupported = unsupported

    @cached_property
    def names(self) -> Mapping[str, str]:
        """Argument -> the name under which callers give it."""
        names = {}
        for argument, (annotation, _) in self._parameters.items():
            metadata = getattr(annotation, "__metadata__", ())
            named = (getattr(meta, "name", None) for meta in metadata)
            names[argument] = next((name for name in named if name), argument)
        return names

    @cached_property
    def allowed(self) -> frozenset[str]:
        """The names of the query parameters, as callers give them."""
        return frozenset(self._in_order)

    @cached_property
    def struct(self) -> type[msgspec.Struct]:
        """A type of the query parameters by argument, each with its default."""
        fields = [
            (argument, _constrained(hint), _field(default, self.names[argument]))
            for argument, (hint, default) in self._parameters.items()
            if _is_of_query(hint)
        ]
        return msgspec.defstruct("Query", fields, kw_only=True, frozen=True)

    @cached_property
    def defaults(self) -> Mapping[str, Any]:
        """The values by argument of a request that gives none; all parameters have defaults."""
        return msgspec.structs.asdict(self.struct())

    async def check(self, request: Request[Any, Any, Any]) -> None:
        """Refuse query parameters which Litestar would pass over; raises InvalidInput.

        Litestar takes one of a parameter that is given twice, and msgspec takes `null` for no
        value: both are refused. Unknown parameters are ignored, except names that are nearly known
        ones; a list refuses them all, since one that is ignored might have narrowed or ordered it.
        """
        seen = set()
        for name, value in request.query_params.multi_items():
            if name in self._single:
                if name in seen:
                    raise InvalidInput(f"{name} may be given once")
                seen.add(name)
                if name in self._typed and value.lower() == "null":
                    raise InvalidInput(f"{name} must be left out or have a value, got {value!r}")
            if name not in self.allowed:
                self._refuse_unknown(name, value)

    def _refuse_unknown(self, name: str, value: str) -> None:
        if self._unsupported is not None and name in self._unsupported:
            refuse_unsupported(name, value, self._unsupported)
            return
        shown = repr(name[:_SHOWN])
        if meant := meant_name(name, self._in_order):
            raise InvalidInput(f"unknown parameter {shown}: did you mean {meant!r}?")
        if self._unsupported is not None:
            known = ", ".join(self._in_order)
            raise InvalidInput(f"unknown parameter {shown}: this list takes {known}")

    @cached_property
    def _in_order(self) -> list[str]:
        hints = {name: hint for name, (hint, _) in self._parameters.items()}
        return [self.names[argument] for argument, hint in hints.items() if _is_of_query(hint)]

    @cached_property
    def _types(self) -> Mapping[str, set[Any]]:
        hints = {name: hint for name, (hint, _) in self._parameters.items()}
        return {self.names[argument]: _types(hint) for argument, hint in hints.items()}

    @cached_property
    def _single(self) -> frozenset[str]:
        """The names that may be given once."""
        return frozenset(name for name, allowed in self._types.items() if list not in allowed)

    @cached_property
    def _typed(self) -> frozenset[str]:
        """The names of which not every text is a value."""
        return frozenset(name for name in self._single if str not in self._types[name])


def _field(default: Any, name: str) -> Any:
    """The field of a Struct for a query parameter; one without a default is required."""
    if default is ...:
        return msgspec.field(name=name)
    return msgspec.field(default=default, name=name)


def _constrained(hint: Any) -> Any:
    """The type of a query parameter with its bounds, as msgspec checks them."""
    meta = next(meta for meta in hint.__metadata__ if isinstance(meta, params.QueryParameter))
    inner = get_args(hint)[0]
    bounds = {bound: getattr(meta, bound) for bound in ("ge", "le")}
    return Annotated[inner, msgspec.Meta(**bounds)] if any(bounds.values()) else inner


def _is_of_query(hint: Any) -> bool:
    """Whether an annotation is that of a query parameter."""
    return any(
        isinstance(meta, params.QueryParameter) for meta in getattr(hint, "__metadata__", ())
    )


def _types(hint: Any) -> set[Any]:
    """The types inside an annotation."""
    if get_origin(hint) is Annotated:
        # A set of its metadata would hash them, which costs Litestar's parameters a copy each.
        return _types(hint.__origin__)
    inner = get_args(hint)
    if not inner or get_origin(hint) is list:
        return {get_origin(hint) or hint}
    return set().union(*map(_types, inner))
