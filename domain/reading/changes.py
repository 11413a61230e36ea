"""Differences between two states of an entity, field by field, in OpenMetadata's form."""

from collections.abc import Callable, Iterator
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Raw, UnsetType

from domain.aggregate.entity import Entity
from domain.aggregate.lifecycle import format_version
from domain.events import Body, values_by_key
from domain.kinds import names
from domain.kinds.entity_kind import FORMER_NAMES
from domain.openmetadata import document
from domain.patches import json_diff, json_patch

_NOT_COMPARED = frozenset({"id", "version", "updatedAt", "updatedBy", FORMER_NAMES})
"""Keys that never change, that say when and by whom rather than what, or that follow from a name
that changes."""
_ABSENT: Any = object()


class FieldDifference(msgspec.Struct, frozen=True):
    """A field that differs; an added field has no old value, a deleted one no new value."""

    sort: Literal["added", "updated", "deleted"]
    name: str
    """Dotted; elements of arrays go by their name: `columns.customer_id.description`."""
    old: Any = None
    new: Any = None


class FieldChange(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A difference on the wire; values are texts, or JSON in a text."""

    name: str
    old_value: str | UnsetType = UNSET
    new_value: str | UnsetType = UNSET


class ChangeDescription(msgspec.Struct, frozen=True, rename="camel"):
    """Changes of a version."""

    fields_added: tuple[FieldChange, ...]
    fields_updated: tuple[FieldChange, ...]
    fields_deleted: tuple[FieldChange, ...]
    previous_version: Raw


def describe(
    before: Entity, after: Entity, cut: Callable[[bytes], bytes] | None = None
) -> ChangeDescription:
    """Return the changes from `before` to `after` in the form of OpenMetadata.

    `cut` takes from the JSON of an entity what is not to be told of.
    """
    changes: dict[str, list[FieldChange]] = {"added": [], "updated": [], "deleted": []}
    for difference in state_differences(before, after, cut):
        old = UNSET if difference.sort == "added" else _text(difference.old)
        new = UNSET if difference.sort == "deleted" else _text(difference.new)
        changes[difference.sort].append(FieldChange(difference.name, old, new))
    return ChangeDescription(
        tuple(changes["added"]),
        tuple(changes["updated"]),
        tuple(changes["deleted"]),
        Raw(format_version(before.version).encode()),
    )


def state_differences(
    before: Entity, after: Entity, cut: Callable[[bytes], bytes] | None = None
) -> Iterator[FieldDifference]:
    """The differing fields of two states of an entity, as `describe` has them."""
    return _differences(_compared(before, cut), _compared(after, cut))


def differences(old: Any, new: Any, name: str = "") -> Iterator[FieldDifference]:
    """The differing fields of two JSON values, in the order of the new one's keys."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys((*new, *old)):
            one, other = old.get(key, _ABSENT), new.get(key, _ABSENT)
            if not json_patch.same(one, other):
                yield from _one(one, other, f"{name}.{names.quote(key)}" if name else key)
    elif isinstance(old, list) and isinstance(new, list):
        ids = json_diff.identities(old), json_diff.identities(new)
        yield from _arrays(old, new, name, ids)
    elif not json_patch.same(old, new):
        yield FieldDifference("updated", name, old, new)


def _one(old: Any, new: Any, name: str) -> Iterator[FieldDifference]:
    if old is _ABSENT:
        yield FieldDifference("added", name, None, new)
    elif new is _ABSENT:
        yield FieldDifference("deleted", name, old, None)
    else:
        yield from differences(old, new, name)


def _arrays(
    old: list[Any], new: list[Any], name: str, ids: tuple[list[str] | None, list[str] | None]
) -> Iterator[FieldDifference]:
    """The differences of two arrays: all added elements in one, all deleted ones in another.

    `ids` are the identities of their elements.
    """
    old_ids, new_ids = ids
    if old_ids is None or new_ids is None:
        if not json_patch.same(old, new):
            yield FieldDifference("updated", name, old, new)
        return
    before = dict(zip(old_ids, old, strict=True))
    after = dict(zip(new_ids, new, strict=True))
    if added := [after[i] for i in new_ids if i not in before]:
        yield FieldDifference("added", name, None, added)
    if deleted := [before[i] for i in old_ids if i not in after]:
        yield FieldDifference("deleted", name, deleted, None)
    for identity in new_ids:
        if identity in before and not json_patch.same(before[identity], after[identity]):
            label = str(after[identity].get("name", identity))
            inside = f"{name}.{names.quote(label)}"
            yield from differences(before[identity], after[identity], inside)
    kept = [i for i in old_ids if i in after], [i for i in new_ids if i in before]
    if kept[0] != kept[1]:
        yield FieldDifference("updated", name, *kept)


def _compared(entity: Entity, cut: Callable[[bytes], bytes] | None) -> Body:
    """The shown fields of an entity that a change of it is described by."""
    shown = document.fields(entity)
    if cut is not None:
        shown = values_by_key(cut(document.encode(shown)))
    compared = {key: raw for key, raw in shown.items() if key not in _NOT_COMPARED}
    return {**compared, "deleted": Raw(b"true" if entity.deleted else b"false")}


def _differences(old: Body, new: Body) -> Iterator[FieldDifference]:
    """The differing fields of two bodies; of arrays no more is decoded than differs, if it can."""
    for key in dict.fromkeys((*new, *old)):
        if key in old and key in new:
            if old[key] == new[key]:
                continue
            parts = json_diff.differing(old[key], new[key])
            ids = parts and json_diff.in_order(parts[0], parts[1])
            if parts is not None and ids is not None:
                yield from _arrays(parts[0], parts[1], key, ids)
                continue
        one, other = (
            msgspec.json.decode(each[key]) if key in each else _ABSENT for each in (old, new)
        )
        yield from _one(one, other, key)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
