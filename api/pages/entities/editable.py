"""The keys of an entity that people change by forms, their values in a form, and their places."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from api.callers.permissions import Access, Action, Permission
from api.pages.entities.columns import COLUMNS_SHOWN
from api.pages.entities.entity_routes import EntityRequest
from api.pages.frame.addresses import with_query
from api.paths.entity_pages import entity_address
from api.use_cases.columns import ShownColumn, unfold
from api.use_cases.entity_writes import expected_state
from domain.aggregate.entity import STATUS
from domain.aggregate.lifecycle import format_version
from domain.errors import InvalidInput, NotFound, shown
from domain.event_store.entity_reads import EntityReads
from domain.kinds import names
from domain.kinds.bodies.components import TAG_KINDS, TAG_SOURCES
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import KINDS
from domain.openmetadata import document
from domain.reading import history
from domain.writing.edits import label
from projections.visibility.withholding import FieldWithheld


class Field(msgspec.Struct, frozen=True):
    """A key that a form changes, and the sort of its value."""

    key: str
    sort: Literal["line", "text", "references", "tags"]

    @property
    def is_list(self) -> bool:
        """True if the key holds a list, for which a form has a field for each item."""
        return self.sort in ("references", "tags")

    def kinds(self, kind: EntityKind) -> tuple[str, ...]:
        """The kinds of the entities that the list under the key may name."""
        return tuple(TAG_SOURCES) if self.sort == "tags" else kind.refers_to[self.key]


FIELDS = (
    Field("displayName", "line"),
    Field("description", "text"),
    Field("owners", "references"),
    Field("domains", "references"),
    Field("tags", "tags"),
)

COLUMN_FIELDS = frozenset(("description", "tags"))
"""The keys of FIELDS that a form changes of a single column."""


Item = str
"""An entry of a list, as a form holds it: its kind and its qualified name, `user:annabel`."""


def editable(kind: EntityKind, access: Access, column: str = "") -> dict[str, Field]:
    """The keys that a caller may change by forms, of an entity or of a column of it.

    Empty for callers who may not edit the kind, and of columns for a kind without them.
    """
    if column:
        keys = COLUMN_FIELDS if kind.columns else frozenset[str]()
        pointer = f"{kind.columns}/-/"
    else:
        keys, pointer = kind.keys - kind.fixed, ""
    return {
        field.key: field
        for field in FIELDS
        if field.key in keys and _may(kind, access, f"{pointer}{field.key}")
    }


def may_set_status(kind: EntityKind, access: Access) -> bool:
    """True if a caller may change the status of the entities of a kind, if they have one."""
    return bool(kind.statuses) and _may(kind, access, STATUS)


def sees_all(kind: EntityKind, access: Access) -> bool:
    """True if a caller may edit and view a kind of which nothing is withheld."""
    return _may(kind, access, "")


def _may(kind: EntityKind, access: Access, key: str) -> bool:
    """True if a caller may edit the kind, and nothing of a key is withheld; "" means all keys.

    `key` is a JSON pointer without the slash that it begins with.

    A value that somebody does not see whole could be overwritten unseen.
    """
    if not access.may(Permission(Action.EDIT, kind.name, also=Action.VIEW)):
        return False
    for action in (Action.EDIT, Action.VIEW):
        if withheld := access.withheld(action, kind.name):
            try:
                withheld.refuse_patching([{"path": f"/{key}"}])
            except FieldWithheld:
                return False
    return True


def given_items(field: Field, kind: EntityKind, form: Mapping[str, str]) -> list[Item]:
    """The entries of a list in a form; raises InvalidInput for one that the list cannot have."""
    items = dict.fromkeys(value for name, value in form.items() if name.startswith("keep."))
    for item in items:
        of, _, fqn = item.partition(":")
        if of not in field.kinds(kind) or not fqn:
            raise InvalidInput(f"{field.key} cannot name {shown(item)}")
    return [*items]


def named_item(field: Field, kind: EntityKind, claims: EntityReads, name: str) -> Item:
    """The entry that a typed name, or `Item.value`, means in a list.

    Raises NotFound, and InvalidInput for a name that several kinds have.
    """
    kinds = field.kinds(kind)
    matches = [item for each in kinds if (item := _live(each, claims, name)) is not None]
    before, _, after = name.partition(":")
    if not matches and before in kinds:
        matches = [item for item in (_live(before, claims, after),) if item is not None]
    if not matches:
        raise NotFound(f"there is no {' or '.join(kinds)} named {shown(name)}")
    if len(matches) > 1:
        values = " or ".join(map(shown, matches))
        raise InvalidInput(f"several have this name: write {values}")
    return matches[0]


def _live(kind: str, claims: EntityReads, name: str) -> Item | None:
    """The live entity of a kind that a typed name means."""
    for fqn in dict.fromkeys((name, KINDS[kind].spelled(name))):
        claim = claims.claim(kind, fqn)
        if claim is not None and not claim.deleted:
            return f"{kind}:{fqn}"
    return None


def items_of(field: Field, entity: Mapping[str, Any]) -> list[Item]:
    """The entries of a list of an entity."""
    return [_item(field, each) for each in entity.get(field.key) or ()]


def list_value(field: Field, entity: Mapping[str, Any], items: Sequence[Item]) -> list[Any]:
    """The list of these items; items that the entity already has stay as they are."""
    known = {_item(field, each): each for each in entity.get(field.key) or ()}
    return [known[item] if item in known else _element(field, item) for item in items]


def _item(field: Field, element: Mapping[str, Any]) -> Item:
    if field.sort == "tags":
        return f"{TAG_KINDS[element['source']]}:{element['tagFQN']}"
    return f"{element['type']}:{element['fullyQualifiedName']}"


def _element(field: Field, item: Item) -> dict[str, str]:
    kind, _, fqn = item.partition(":")
    if field.sort == "tags":
        return label(kind, fqn)
    return {"type": kind, "fullyQualifiedName": fqn}


def read_seen(at: EntityRequest, entity_id: str, tag: str) -> dict[str, Any] | None:
    """The state of an entity that had an ETag, as the caller may see it.

    Blocks. None for a state that is not in the log: it was lost, or another entity had it. Raises
    InvalidInput for no ETag.
    """
    version, last_change = expected_state(tag)
    try:
        text = format_version(version or 0)
        before = history.version(at.services.stores.log, at.kind, entity_id, text)
    except NotFound:
        return None
    if last_change not in (None, before.entity.last_change):
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


def edit_address(
    kind: EntityKind, access: Access, entity: Mapping[str, Any], key: str
) -> str | None:
    """The address of the form of a column, but for the column's name, which ends it.

    None where the caller may not change the columns that a key of the entity holds.
    """
    field = next(iter(editable(kind, access, key)), None)
    if key != kind.columns or field is None:
        return None
    address = entity_address(kind.name, entity["fullyQualifiedName"], "edit")
    return f"{address}?field={field}&column="
