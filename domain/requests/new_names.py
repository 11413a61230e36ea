"""References and labels in a body that follow what they name to another qualified name."""

from collections.abc import Mapping
from typing import Any

import msgspec

from domain.aggregate.commands import NewName
from domain.events import Body, encode
from domain.kinds import names
from domain.kinds.entity_kind import EntityKind

_NOT_FOLLOWED = "extension"
"""Key at any depth below which values are the caller's own."""
_NAMED = (b'"fullyQualifiedName"', b'"tagFQN"')


class NewNames(msgspec.Struct, frozen=True):
    """The names that entities have now, in place of those by which bodies name them."""

    by_id: Mapping[str, NewName]
    """Id of an entity -> its name."""
    labels: Mapping[tuple[str, str], str]
    """Source and qualified name that labels have -> the qualified name that they should have."""


def with_new_names(kind: EntityKind, body: Body, new: NewNames) -> Body:
    """The body with new names in its references and labels; the argument itself without any.

    Values of `extension` and keys with paths of their own stay as they were written.
    """
    changed: Body = {}
    for key, raw in body.items():
        if key == _NOT_FOLLOWED or key in kind.apart:
            continue
        if not any(each in bytes(raw) for each in _NAMED):
            continue
        value = msgspec.json.decode(raw)
        if _follow(value, new):
            changed[key] = encode(value)
    return {**body, **changed} if changed else body


def _follow(value: Any, new: NewNames) -> bool:
    """Change the names inside a value, in place; returns False where there were none."""
    is_changed = False
    left = [value]
    while left:
        each = left.pop()
        if isinstance(each, list):
            left += each
        elif isinstance(each, dict):
            is_changed |= _follow_reference(each, new) | _follow_label(each, new)
            left += [inner for key, inner in each.items() if key != _NOT_FOLLOWED]
    return is_changed


def _follow_reference(value: dict[str, Any], new: NewNames) -> bool:
    named = new.by_id.get(entity_id) if isinstance(entity_id := value.get("id"), str) else None
    if named is None or value.get("fullyQualifiedName") in (None, named.fqn):
        return False
    value["fullyQualifiedName"] = named.fqn
    if "name" in value:
        value["name"] = named.name
    return True


def _follow_label(value: dict[str, Any], new: NewNames) -> bool:
    old, source = value.get("tagFQN"), value.get("source")
    if not (isinstance(old, str) and isinstance(source, str)):
        return False
    if (fqn := new.labels.get((source, old))) is None:
        return False
    value["tagFQN"] = fqn
    if value.get("name") == names.split(old)[-1]:
        value["name"] = names.split(fqn)[-1]
    return True
