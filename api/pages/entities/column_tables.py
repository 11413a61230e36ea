"""Tables of columns on the page of an entity: which rows it has, and where their forms are."""

from collections.abc import Mapping
from typing import Any

from api.callers.permissions import Access
from api.pages.entities import columns
from api.pages.entities.editable import column_editable
from api.pages.frame.addresses import entity_address, with_query
from domain.kinds.entity_kind import EntityKind

COLUMNS_SHOWN = 200
"""Columns of a page; the rest is loaded as it is scrolled to, or by a link."""


def column_table(
    key: str, entity: Mapping[str, Any], address: str, text: str, start: int, everything: bool
) -> dict[str, Any]:
    """A table of columns: the rows of this page of it, and the link to the next ones.

    `address` is that of the entity's page, which may embed the table on another page too.
    """
    rows = columns.unfold(entity[key])
    matches = columns.matching(rows, text)
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
        "described": columns.have(rows, "description"),
        "constrained": columns.have(rows, "constraint"),
        "tagged": columns.have(rows, "tags"),
    }


def edit_address(
    kind: EntityKind, access: Access, entity: Mapping[str, Any], key: str
) -> str | None:
    """The address of the form of a column, but for the column's name, which ends it.

    None where the caller may not change the columns that a key of the entity holds.
    """
    field = next(iter(column_editable(kind, access)), None)
    if key != kind.columns or field is None:
        return None
    address = entity_address(kind.name, entity["fullyQualifiedName"], "edit")
    return f"{address}?field={field}&column="
