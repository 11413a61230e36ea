"""Descriptions and owners from events, written only where nobody has written anything."""

from collections.abc import Sequence
from typing import Any

from domain.aggregate.entity import Entity
from domain.event_store.entity_reads import EntityReads
from domain.kinds.names import quote
from domain.kinds.registry import KINDS
from domain.openlineage.facets import Told
from domain.openlineage.rights import Rights
from domain.openlineage.statements import DatasetTexts, Field

Operation = dict[str, Any]
_PEOPLE = ("user", "team")


def missing_texts(
    state: Entity, said: DatasetTexts, claims: EntityReads, rights: Rights, told: Told
) -> list[Operation]:
    """The JSON Patch that gives an entity the texts that it has not, as far as the caller may."""
    operations: list[Operation] = []
    if said.description and state.kind in rights.describes and not state.value("description"):
        operations.append({"op": "add", "path": "/description", "value": said.description})
    if said.owners and state.kind in rights.owns and not state.value("owners"):
        if owners := owners_of(said.owners, claims):
            operations.append({"op": "add", "path": "/owners", "value": owners})
        else:
            told.add(f"owners of {state.fqn!r} left out: not all of them are users or teams here")
    if state.kind in rights.columns:
        operations += _of_columns(state, said.fields)
    return operations


def owners_of(names: Sequence[str], claims: EntityReads) -> list[dict[str, str]]:
    """The references to users and teams with these names; none unless each is exactly one.

    A name may say which of both it is, as `team:sales`.
    """
    sought: list[list[tuple[str, str]]] = []
    for name in names:
        kind, sign, rest = name.partition(":")
        kinds = (kind,) if sign and kind in _PEOPLE else _PEOPLE
        bare = rest if sign and kind in _PEOPLE else name
        if not bare:
            return []
        sought.append([(each, quote(bare)) for each in kinds])
    holders = claims.claims(names=[each for some in sought for each in some]) if sought else []
    live = {
        (claim.kind, fqn): claim
        for claim in holders
        if not claim.deleted
        for fqn in claim.all_names
    }
    owners: dict[str, dict[str, str]] = {}
    for some in sought:
        hits = [live[each] for each in some if each in live]
        if len(hits) != 1:
            return []
        owners[hits[0].id] = {"id": hits[0].id, "type": hits[0].kind}
    return [*owners.values()]


def _of_columns(state: Entity, fields: Sequence[Field]) -> list[Operation]:
    """The JSON Patch that gives descriptions to the columns that have none."""
    said = {each.path: each.description for each in fields if each.description}
    operations: list[Operation] = []
    if not said:
        return operations
    for path in KINDS[state.kind].body.parts:
        key, _, inner = path.partition(".")
        value = state.value(key)
        parts = (value or {}).get(inner) if inner else value
        pointer = f"/{key}/{inner}" if inner else f"/{key}"
        _describe(parts or [], (), pointer, said, operations)
    return operations


def _describe(
    parts: Sequence[dict[str, Any]],
    above: tuple[str, ...],
    pointer: str,
    said: dict[tuple[str, ...], str],
    operations: list[Operation],
) -> None:
    for number, part in enumerate(parts):
        path = (*above, part["name"])
        text = said.get(path)
        if text and not part.get("description"):
            place = f"{pointer}/{number}/description"
            operations.append({"op": "add", "path": place, "value": text})
        inner = part.get("children") or []
        _describe(inner, path, f"{pointer}/{number}/children", said, operations)
