"""Query parameters that may be given in camelCase, as documented, and in snake_case."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from api.declaring.declared_query import Parameters, QueryParameter
from domain.errors import InvalidInput

Rows = Sequence[tuple[str, Any, Any, str]]
"""(name, type, default, meaning) of each parameter."""


def snake(name: str) -> str:
    """The snake_case spelling of a camelCase parameter."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def both_spellings(rows: Rows) -> Parameters:
    """Every parameter in both spellings; an underscore is added, as `from` can be no argument."""
    parameters = {}
    for name, hint, _, meaning in rows:
        for spelling in dict.fromkeys((name, snake(name))):
            about = QueryParameter(name=spelling, description=meaning)
            parameters[f"{spelling}_"] = (Annotated[hint | None, about], None)
    return parameters


def given_values(rows: Rows, given: Mapping[str, Any]) -> dict[str, Any]:
    """Name -> value as given in either spelling, or the default.

    Raises InvalidInput for a parameter that is given in both.
    """
    values: dict[str, Any] = {}
    for name, _, default, _ in rows:
        spellings = dict.fromkeys((name, snake(name)))
        values_given = [given[f"{s}_"] for s in spellings if given[f"{s}_"] is not None]
        if len(values_given) > 1:
            raise InvalidInput(f"{name} and {snake(name)} are one parameter; give it once")
        values[name] = values_given[0] if values_given else default
    return values
