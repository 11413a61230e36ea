"""Changes that people make from pages: the write of the API, at the version that they saw."""

from collections.abc import Mapping
from typing import Any

import msgspec

from api.callers.permissions import Action
from api.errors import Forbidden, status_of
from api.pages.entities.columns import COLUMNS_SHOWN, ShownColumn, unfold
from api.pages.entities.entity_routes import EntityRequest
from api.pages.frame.addresses import entity_address, with_query
from api.use_cases.asked import asked_by_form, expected_state
from api.use_cases.entity_writes import PlanOf, write_entity
from domain.aggregate.lifecycle import format_version
from domain.errors import CatalogError, InvalidInput, NotEmpty, NotFound, StaleVersion, shown
from domain.kinds import names
from domain.kinds.entity_kind import EntityKind
from domain.openmetadata import document
from domain.reading import history

REFUSALS = (CatalogError, Forbidden)
"""Errors that are shown beside the form that was sent."""


def needed(fields: Mapping[str, str], name: str) -> str:
    """A field that a form must have; raises InvalidInput."""
    if name not in fields:
        raise InvalidInput(f"the form has no {name}")
    return fields[name]


async def change(at: EntityRequest, plan_of: PlanOf, body: bytes, tag: str) -> None:
    """Do a write with the body that a program would send, if the entity still has an ETag.

    Raises what `write_entity` raises. Where the entity has another state by now, that state is
    what pages show from then on.
    """
    services, asked = at.services, asked_by_form(at.request, body, tag)
    try:
        await write_entity(services, at.request, asked, plan_of, lambda _: None)
    except StaleVersion:
        head = await services.heavy_read(at.request, services.catalog.store.head)
        await services.listed.until(head)
        raise


def refusal(error: Exception) -> tuple[int, str]:
    """The status and the words of one of REFUSALS."""
    if isinstance(error, NotEmpty):
        # The error tells programs how to ask for it.
        return status_of(error)[0], "It is not empty: it goes only with everything below it."
    if isinstance(error, CatalogError):
        return status_of(error)[0], error.message
    return 403, str(error)


def read_seen(at: EntityRequest, entity_id: str, tag: str) -> dict[str, Any] | None:
    """The state of an entity that had an ETag, as the caller may see it.

    Blocks. None for a state that is not in the log: it was lost, or another entity had it. Raises
    InvalidInput for no ETag.
    """
    version, last_event = expected_state(tag)
    try:
        text = format_version(version or 0)
        before = history.version(at.services.stores.log, at.kind, entity_id, text)
    except NotFound:
        return None
    if last_event not in (None, before.entity.last_event):
        return None
    seen = document.encode(document.fields(before.entity))
    if withheld := at.access.withheld(Action.VIEW, at.kind.name):
        seen = withheld.cut(seen)
    return msgspec.json.decode(seen, type=dict[str, Any])


def changed_keys(kind: EntityKind, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """The keys of a kind that differ between two versions of an entity."""
    return [
        key
        for key in dict.fromkeys((*old, *new))
        if key in kind.keys and (old.get(key) or None) != (new.get(key) or None)
    ]


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
    path = names.join(names.split(column))
    rows = unfold(msgspec.convert(columns, list[ShownColumn]))
    number = next((row.number for row in rows if row.path == path), 1)
    return FormTarget(holder, column, number, pointer, tuple(tests))
