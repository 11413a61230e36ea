"""The keys of an entity that people change by forms, and their values in a form."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from api.callers.permissions import Access, Action, Permission
from domain.aggregate.entity import STATUS
from domain.errors import InvalidInput, NotFound, shown
from domain.event_store.port import EntityReads
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import KINDS
from projections.visibility.withholding import FieldWithheld

_SOURCES = {"tag": "Classification", "glossaryTerm": "Glossary"}
"""Kind of a tag's entity -> the source in its label."""
_KINDS = {source: kind for kind, source in _SOURCES.items()}


class Field(msgspec.Struct, frozen=True):
    """A key that a form changes, and the sort of its value."""

    key: str
    sort: Literal["line", "text", "references", "tags"]

    def kinds(self, kind: EntityKind) -> tuple[str, ...]:
        """The kinds of what its list may name."""
        return tuple(_SOURCES) if self.sort == "tags" else kind.refers_to[self.key]


FIELDS = (
    Field("displayName", "line"),
    Field("description", "text"),
    Field("owners", "references"),
    Field("domains", "references"),
    Field("tags", "tags"),
)

COLUMN_FIELDS = ("description", "tags")
"""The keys of FIELDS that a form changes of a single column."""


class Item(msgspec.Struct, frozen=True):
    """An entry of a list, as a form holds it: `user:annabel`."""

    kind: str
    fqn: str

    @property
    def value(self) -> str:
        """The text of a form that means it."""
        return f"{self.kind}:{self.fqn}"


def editable(kind: EntityKind, access: Access) -> dict[str, Field]:
    """The keys that a caller may change by forms; empty for callers who may not edit the kind."""
    return {
        field.key: field
        for field in FIELDS
        if field.key in kind.keys and field.key not in kind.fixed and _may(kind, access, field.key)
    }


def column_editable(kind: EntityKind, access: Access) -> dict[str, Field]:
    """The keys of a column that a caller may change by forms; empty for a kind without columns."""
    return {
        field.key: field
        for field in FIELDS
        if kind.columns
        and field.key in COLUMN_FIELDS
        and _may(kind, access, f"{kind.columns}/-/{field.key}")
    }


def may_set_status(kind: EntityKind, access: Access) -> bool:
    """True if a caller may change the status of the entities of a kind, if they have one."""
    return bool(kind.statuses) and _may(kind, access, STATUS)


def sees_all(kind: EntityKind, access: Access) -> bool:
    """True if a caller may edit and view a kind of which nothing is withheld."""
    return _may(kind, access, "")


def _may(kind: EntityKind, access: Access, key: str) -> bool:
    """True if a caller may edit the kind, and nothing of a key is withheld (no key: of any).

    `key` is a JSON pointer without the slash that it begins with.

    What somebody does not see whole would be overwritten unseen.
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
    items: dict[Item, None] = {}
    for name, value in form.items():
        if name.startswith("keep."):
            of, _, fqn = value.partition(":")
            if of not in field.kinds(kind) or not fqn:
                raise InvalidInput(f"{field.key} cannot name {shown(value)}")
            items[Item(of, fqn)] = None
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
        values = " or ".join(shown(item.value) for item in matches)
        raise InvalidInput(f"several have this name: write {values}")
    return matches[0]


def _live(kind: str, claims: EntityReads, name: str) -> Item | None:
    """The live entity of a kind that a typed name means."""
    for fqn in dict.fromkeys((name, KINDS[kind].spelled(name))):
        claim = claims.claim(kind, fqn)
        if claim is not None and not claim.deleted:
            return Item(kind, fqn)
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
        return Item(_KINDS[element["source"]], element["tagFQN"])
    return Item(element["type"], element["fullyQualifiedName"])


def _element(field: Field, item: Item) -> dict[str, str]:
    if field.sort == "tags":
        return {
            "tagFQN": item.fqn,
            "source": _SOURCES[item.kind],
            "labelType": "Manual",
            "state": "Confirmed",
        }
    return {"type": item.kind, "fullyQualifiedName": item.fqn}
