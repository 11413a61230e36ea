"""Edits: changes of texts and lists that say what they find, and are made on the newest state.

A JSON Patch by a caller that saw an older state, or a part of one, puts whole lists and texts in
the place of newer ones. An edit adds and removes by name, and replaces what it names.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import msgspec

from domain.aggregate.entity import Entity
from domain.errors import InvalidInput, NotFound, shown
from domain.event_store.entity_reads import EntityReads
from domain.kinds import names
from domain.kinds.bodies.components import TAG_SOURCES
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import KINDS
from domain.patches.json_patch import Operation


class Act(StrEnum):
    """The sorts of edits."""

    APPEND_DESCRIPTION = "append_description"
    REPLACE_IN_DESCRIPTION = "replace_in_description"
    SET_DESCRIPTION = "set_description"
    SET_DISPLAY_NAME = "set_display_name"
    ADD_OWNERS = "add_owners"
    REMOVE_OWNERS = "remove_owners"
    ADD_TAGS = "add_tags"
    REMOVE_TAGS = "remove_tags"
    ADD_TERMS = "add_terms"
    REMOVE_TERMS = "remove_terms"
    ADD_DOMAINS = "add_domains"
    REMOVE_DOMAINS = "remove_domains"

    @property
    def key(self) -> str:
        """The key of an entity or column that the edit changes."""
        if self is Act.SET_DISPLAY_NAME:
            return "displayName"
        if self in (Act.ADD_TERMS, Act.REMOVE_TERMS):
            return "tags"
        return self.rpartition("_")[2]

    @property
    def adds(self) -> bool:
        """True if the edit adds to a list."""
        return self.startswith("add_")

    @property
    def is_of_names(self) -> bool:
        """True if the edit adds to a list or removes from it."""
        return self.adds or self.startswith("remove_")

    def names_of(self, kind: EntityKind) -> tuple[str, ...]:
        """The kinds whose entities the edit may name, for an entity of a kind."""
        if self.key == "tags":
            return ("glossaryTerm",) if self.endswith("terms") else ("tag",)
        return kind.refers_to[self.key]


class Edit(msgspec.Struct, frozen=True, kw_only=True):
    """One edit, of the entity or of one of its columns."""

    act: Act
    column: str = ""
    """Qualified name of the column in its entity; empty for the entity itself."""
    text: str = ""
    """The text that is appended, or that stands there afterwards."""
    old: str = ""
    """The text that is replaced in a description, where it occurs exactly once."""
    replaces: str | None = None
    """All of the text that is replaced; empty where there is none."""
    names: Sequence[str] = ()


class Unresolved(InvalidInput):
    """Edits name entities that do not exist; nothing is changed."""

    def __init__(self, missing: Sequence[tuple[str, tuple[str, ...]]]) -> None:
        """`missing` are the names, each with the kinds that it could be of."""
        self.missing = missing
        said = ", ".join(f"no {' or '.join(kinds)} named {shown(name)}" for name, kinds in missing)
        super().__init__(f"nothing is changed, as there is {said}")


def patch_of(store: EntityReads, state: Entity, edits: Sequence[Edit]) -> list[Operation]:
    """The JSON Patch of edits, one after the other, on a state.

    Raises InvalidInput for an edit that the state does not fit, NotFound for a column that does not
    exist, and Unresolved with all names that lead nowhere.
    """
    editing = _Editing(store, state)
    for number, edit in enumerate(edits, 1):
        try:
            editing.make(edit)
        except (InvalidInput, NotFound) as error:
            raise type(error)(f"change {number}, {edit.act}: {error.message}") from None
    if editing.missing:
        raise Unresolved(editing.missing)
    return editing.operations()


class _Editing:
    """A state with edits that are made on the parts of it that they touch."""

    def __init__(self, store: EntityReads, state: Entity) -> None:
        self._store = store
        self._kind = KINDS[state.kind]
        self._state = state
        self._values: dict[str, Any] = {}
        """The touched keys of the body, decoded."""
        self._touched: dict[tuple[str, str], tuple[dict[str, Any], bool]] = {}
        """Pointer and key -> the object that holds it, and whether it had the key at first."""
        self.missing: list[tuple[str, tuple[str, ...]]] = []

    def make(self, edit: Edit) -> None:
        """Make one edit; names that are not there are added to `missing`."""
        key = edit.act.key
        holder, pointer = self._holder(edit.column, key)
        self._touched.setdefault((pointer, key), (holder, key in holder))
        if edit.act.is_of_names:
            holder[key] = self._listed(edit, holder.get(key) or [])
        else:
            holder[key] = _text(edit, holder.get(key) or "")

    def operations(self) -> list[Operation]:
        """The operations that make the same changes."""
        patch: list[Operation] = []
        for (pointer, key), (holder, had) in self._touched.items():
            path = f"{pointer}/{key}"
            if holder[key] or key not in ("description", "displayName"):
                patch.append({"op": "add", "path": path, "value": holder[key]})
            elif had:
                patch.append({"op": "remove", "path": path})
        return patch

    def _holder(self, column: str, key: str) -> tuple[dict[str, Any], str]:
        """The object that has a key, and the pointer to it."""
        if not column:
            if key not in self._kind.keys - self._kind.fixed:
                raise InvalidInput(f"a {self._kind.name} has no {key}")
            self._value(key)
            return self._values, ""
        if key not in ("description", "displayName", "tags"):
            raise InvalidInput(f"columns have no {key}")
        for path in self._kind.body.parts:
            first, _, inner = path.partition(".")
            value = self._value(first)
            if inner:
                value = value.get(inner) if isinstance(value, dict) else None
            pointer = "/" + path.replace(".", "/")
            if (found := _column(value or [], pointer, names.split(column))) is not None:
                return found
        raise NotFound(f"{self._kind.name} {self._state.fqn} has no column {shown(column)}")

    def _value(self, key: str) -> Any:
        if key not in self._values and key in self._state.body:
            self._values[key] = self._state.value(key)
        return self._values.get(key)

    def _listed(self, edit: Edit, before: list[Any]) -> list[Any]:
        """A list with elements added, or without those that are named."""
        if edit.act.key == "tags":
            source = TAG_SOURCES[edit.act.names_of(self._kind)[0]]
            held = {each["tagFQN"]: each for each in before if each.get("source") == source}
        else:
            held = {each["id"]: each for each in before}
        after = list(before)
        for name in edit.names:
            element_named = self._named(edit, name)
            if element_named is None:
                continue
            identity, element = element_named
            if edit.act.adds:
                if identity not in held:
                    held[identity] = element
                    after.append(element)
            elif identity in held:
                after.remove(held.pop(identity))
            else:
                raise InvalidInput(f"{edit.act.key} has no {shown(name)}")
        return after

    def _named(self, edit: Edit, name: str) -> tuple[str, dict[str, Any]] | None:
        """The identity of what a name means in a list, and the element for it; None where it is
        missing, which is noted."""
        kinds = edit.act.names_of(self._kind)
        before, _, after = name.partition(":")
        sought = [(each, name) for each in kinds] + [(before, after)] * (before in kinds)
        holders = {
            claim.id: (kind, claim)
            for kind, each in sought
            for fqn in dict.fromkeys((each, KINDS[kind].spelled(each)))
            if each and (claim := self._store.claim(kind, fqn)) and not claim.deleted
        }
        if not holders:
            self.missing.append((name, kinds))
            return None
        if len(holders) > 1:
            ways = " or ".join(f"{kind}:{name}" for kind, _ in holders.values())
            raise InvalidInput(f"several are named {shown(name)}: write {ways}")
        ((kind, claim),) = holders.values()
        if edit.act.key == "tags":
            return claim.fqn, label(kind, claim.fqn)
        return claim.id, {"type": kind, "id": claim.id}


def label(kind: str, fqn: str) -> dict[str, Any]:
    """The label by which an entity has a tag, or a term of a glossary, that somebody chose."""
    return {"tagFQN": fqn, "source": TAG_SOURCES[kind], "labelType": "Manual", "state": "Confirmed"}


def _text(edit: Edit, before: str) -> str:
    """The text after an edit."""
    if edit.act is Act.APPEND_DESCRIPTION:
        return f"{before}\n\n{edit.text}" if before else edit.text
    if edit.act is Act.REPLACE_IN_DESCRIPTION:
        times = before.count(edit.old) if edit.old else 0
        if times == 1 and before.find(edit.old) != before.rfind(edit.old):
            times = 2  # which overlap, so that `count` takes them for one
        if times != 1:
            raise InvalidInput(
                f"old must occur in the description exactly once, and does {times} times"
            )
        return before.replace(edit.old, edit.text)
    if edit.replaces is None:
        raise InvalidInput("replaces must be the present text, empty where there is none")
    if edit.replaces != before:
        raise InvalidInput(
            "replaces is not the present text, which may have links, images or comments that you"
            f" are not shown, and has {len(before):,} characters: append to it or replace in it"
            if before
            else "replaces must be empty, as there is no text yet"
        )
    return edit.text


def _column(
    columns: Sequence[dict[str, Any]], pointer: str, path: Sequence[str]
) -> tuple[dict[str, Any], str] | None:
    """The column at a path, and the pointer to it; None where there is none."""
    for place, column in enumerate(columns):
        if column.get("name") == path[0]:
            at = f"{pointer}/{place}"
            if len(path) == 1:
                return column, at
            return _column(column.get("children") or [], f"{at}/children", path[1:])
    return None
