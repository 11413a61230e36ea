"""The sort values of a hit, as a request names them to begin a page after it."""

from domain.errors import InvalidInput, shown
from projections.search.documents.documents import SORTABLE, SortValue
from projections.search.engine import SCORE, Sort
from projections.search.matching.terms import as_number

_NULL = "null"
"""A missing value as it is written in a query string."""


def sort_values(values: tuple[SortValue, ...], sort: Sort) -> tuple[SortValue, str, str]:
    """Value, name and id of a hit after which a page begins, numbers from their texts.

    Raises InvalidInput when no hit can have such sort values.
    """
    if len(values) == 2:
        # Clients leave a null out when they build the query string.
        values = (None, *values)
    if len(values) != 3:
        raise InvalidInput(f"search_after needs the 3 sort values of a hit, got {len(values)}")
    value, name, entity_id = values
    if value == _NULL:
        value = None
    if not isinstance(name, str) or not isinstance(entity_id, str):
        raise InvalidInput("search_after needs the sort values of a hit: value, name and id")
    if name != name.lower():
        raise InvalidInput(f"search_after has the name as hits do, got {name[:40]!r}")
    value = _as_sorted(value, sort.field)
    if sort.field == SCORE and value is None:
        raise InvalidInput("search_after begins with the score")
    return value, name, entity_id


def _as_sorted(value: SortValue, field: str) -> SortValue:
    """The value as hits have it for the field, a number from its text; None for a missing one.

    Raises InvalidInput for what no hit has: after such a value, a page would not go on but repeat
    others.
    """
    if value is None:
        return None
    if field == SCORE or SORTABLE[field] is float:
        wanted = "a number"
        number = None if isinstance(value, bool) else as_number(str(value))
        if number is not None:
            return number
    else:
        wanted = "a text in lower case"
        if isinstance(value, str) and value and value == value.lower():
            return value
    raise InvalidInput(
        f"search_after begins with {wanted} for {field}, or null where a hit has none, got"
        f" {shown(value)}"
    )
