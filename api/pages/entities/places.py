"""The object that a form changes: the entity itself, or one of its columns."""

from collections.abc import Mapping
from typing import Any

import msgspec

from api.pages.entities.column_tables import COLUMNS_SHOWN
from api.pages.entities.columns import unfold
from api.pages.frame.addresses import entity_address, with_query
from domain.errors import NotFound, shown
from domain.kinds import names
from domain.kinds.entity_kind import EntityKind


class FormTarget(msgspec.Struct, frozen=True):
    """The object that has the key, and its place for a JSON Patch."""

    holder: Mapping[str, Any]
    """The entity, or the column, as the caller sees it."""
    column: str = ""
    """The qualified name of the column in its entity, as `address."zip.code"`; none: the entity."""
    number: int = 0
    """The place of the column among all of the entity, counted from 1."""
    pointer: str = ""
    tests: tuple[Mapping[str, str], ...] = ()
    """Operations that hold the pointer to the names of the columns that it leads through."""

    def patch(self, key: str, value: Any) -> bytes:
        """The JSON Patch that gives a key another value."""
        change = {"op": "add", "path": f"{self.pointer}/{key}", "value": value}
        return msgspec.json.encode([*self.tests, change])

    def link_to(self, kind: str, fqn: str, key: str) -> str:
        """The address of the link that leads to the form of a key, on the page of the entity."""
        page = entity_address(kind, fqn)
        if not self.column:
            return f"{page}#edit-{key}"
        start = (self.number - 1) // COLUMNS_SHOWN * COLUMNS_SHOWN
        return with_query(page, {"from": str(start) if start else None}) + f"#column-{self.number}"


def place_in(kind: EntityKind, entity: Mapping[str, Any], column: str) -> FormTarget:
    """The place of a column by its qualified name in the entity; without a name, the entity.

    `entity` is what the caller sees. Raises NotFound, and InvalidInput for what is no name.
    """
    if not column:
        return FormTarget(entity)
    columns = entity.get(kind.columns or "") or []
    pointer, key, inner, tests = "", kind.columns, columns, []
    for name in names.split(column):
        index = next((i for i, each in enumerate(inner) if each["name"] == name), None)
        if index is None:
            raise NotFound(
                f"{kind.name} {entity['fullyQualifiedName']} has no column {shown(column)}"
            )
        pointer = f"{pointer}/{key}/{index}"
        tests.append({"op": "test", "path": f"{pointer}/name", "value": name})
        holder = inner[index]
        key, inner = "children", holder.get("children") or []
    number = next((row.number for row in unfold(columns) if row.given is holder), 1)
    return FormTarget(holder, column, number, pointer, tuple(tests))
