"""Columns and other named parts of an entity, unfolded to rows of one table on its page."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from api.pages.frame.addresses import with_query
from api.pages.frame.documents import complete
from api.use_cases.columns import NOTHING, ColumnRow, ShownColumn, matching, unfold
from domain.events import values_by_key
from domain.kinds.entity_kind import EntityKind

COLUMNS_SHOWN = 200
"""Columns of a page; the rest is loaded as it is scrolled to, or by a link."""
_MOST_OBJECT = 64_000
"""Bytes of an object in an entity that is decoded to be shown."""


_columns = msgspec.json.Decoder(list[ShownColumn] | None)


def decode(kind: EntityKind, body: bytes) -> dict[str, Any]:
    """The JSON of an entity decoded and complete; of the columns of its kind what is shown.

    A large object, which pages show as JSON and no more of it than its beginning, stays Raw.
    """

    def value(key: str, raw: msgspec.Raw) -> Any:
        if key == kind.columns:
            return _columns.decode(raw)
        view = memoryview(raw)
        if len(view) > _MOST_OBJECT and bytes(view[:1]) == b"{":
            return raw
        given = msgspec.json.decode(raw)
        return msgspec.convert(given, list[ShownColumn]) if _are_columns(given) else given

    return complete({key: value(key, raw) for key, raw in values_by_key(body).items()})


def column_keys(kind: EntityKind, entity: Mapping[str, Any]) -> Iterator[str]:
    """The keys of an entity of `decode` that hold columns."""
    for key, value in entity.items():
        if key == kind.columns or (
            isinstance(value, list) and any(isinstance(each, ShownColumn) for each in value[:1])
        ):
            yield key


def _are_columns(value: Any) -> bool:
    """True if a value is a list of objects that all have a name and a type."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(each, dict) and "name" in each and "dataType" in each for each in value)
    )


def have(rows: Iterable[ColumnRow], key: str) -> bool:
    """True if any column has a value under a key."""
    return any(getattr(row.column, key) not in NOTHING for row in rows)


def column_table(
    key: str, entity: Mapping[str, Any], address: str, text: str, start: int, everything: bool
) -> dict[str, Any]:
    """A table of columns for a template: the rows of one page, and the link to the next page.

    `address` is the address of the entity's page, also where another page shows the table.
    """
    rows = unfold(entity[key])
    matches = matching(rows, text)
    end = len(matches) if everything else start + COLUMNS_SHOWN
    more = with_query(address, {"column": text, "from": str(end)}) if end < len(matches) else None
    return {
        "key": key,
        "total": len(rows),
        "found": len(matches),
        "text": text,
        "rows": matches[0 if everything else start : end],
        "more": more,
        "first": with_query(address, {"column": text}) if start and not everything else None,
        "address": address,
        "described": have(rows, "description"),
        "constrained": have(rows, "constraint"),
        "tagged": have(rows, "tags"),
    }
