"""Meaning of the events of a log, worked out once more from their JSON alone.

Nothing of the catalog is imported here: a mistake in how it applies events is to be found.
"""

import copy
from collections.abc import Iterable
from typing import Any

from benchmarks.histories.record import Json, Row

_SHOWN_WITHOUT = {"glossary": {"description": ""}, "glossaryTerm": {"description": ""}}
"""Kind -> what documents show of keys that the entity does not have."""


class Unfoldable(Exception):
    """The events are no history of entities."""


def fold(rows: Iterable[Row]) -> dict[str, Json]:
    """Id -> state of each entity, purged ones included; raises Unfoldable.

    A state has the keys kind, name, fqn, former (qualified names, the latest last), parent, body,
    version, stream, deleted, purged, position, at and actor.
    """
    states: dict[str, Json] = {}
    for position, entity_id, stream_version, event_type, payload in rows:
        state = states.get(entity_id)
        expected = 1 if state is None else state["stream"] + 1
        where = f"position {position}, {event_type} {stream_version} of {entity_id}"
        if stream_version != expected:
            raise Unfoldable(f"{where}: the stream goes on with {expected}")
        if (state is None) != (event_type == "entity.created"):
            raise Unfoldable(f"{where}: there is {'no' if state is None else 'an'} entity")
        if state is None:
            state = states[entity_id] = _created(payload)
        elif state["purged"]:
            raise Unfoldable(f"{where}: the entity was purged")
        else:
            _change(state, event_type, payload, where)
        state |= {
            "version": payload["version"],
            "stream": stream_version,
            "position": position,
            "at": payload["at"],
            "actor": payload["actor"],
        }
    return states


def document(entity_id: str, state: Json) -> Json:
    """The entity as lists show it with all its fields."""
    shown: Json = {
        "id": entity_id,
        "name": state["name"],
        "fullyQualifiedName": state["fqn"],
        **_SHOWN_WITHOUT[state["kind"]],
        **state["body"],
        "version": state["version"] / 10,
        "updatedAt": state["at"],
        "updatedBy": state["actor"],
    }
    if state["deleted"]:
        shown["deleted"] = True
    if state["former"]:
        shown["formerNames"] = state["former"]
    return shown


def _created(payload: Json) -> Json:
    return {
        "kind": payload["kind"],
        "name": payload["name"],
        "fqn": payload["fqn"],
        "parent": payload.get("parentId"),
        "former": [],
        "body": copy.deepcopy(payload["body"]),
        "deleted": False,
        "purged": False,
    }


def _change(state: Json, event_type: str, payload: Json, where: str) -> None:
    if event_type == "entity.changed":
        for operation in payload["patch"]:
            try:
                _apply(state["body"], operation)
            except (KeyError, IndexError, TypeError, ValueError) as error:
                raise Unfoldable(f"{where}: {operation} fails: {error!r}") from None
    elif event_type in ("entity.soft-deleted", "entity.restored"):
        deleted = event_type == "entity.soft-deleted"
        if state["deleted"] == deleted:
            raise Unfoldable(f"{where}: the entity is so already")
        state["deleted"] = deleted
    elif event_type == "entity.renamed":
        if payload["fqn"] == state["fqn"]:
            raise Unfoldable(f"{where}: the entity has this name already")
        former = [*state["former"], state["fqn"]]
        state["former"] = [each for each in former if each != payload["fqn"]]
        state["name"], state["fqn"] = payload["name"], payload["fqn"]
    elif event_type == "entity.purged":
        state["purged"] = True
    else:
        raise Unfoldable(f"{where}: histories have no such event")


def _apply(document: Json, operation: Json) -> None:
    """Do one operation of RFC 6902: add, remove or replace."""
    *path, last = (
        part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]
    )
    target: Any = document
    for part in path:
        target = target[int(part)] if isinstance(target, list) else target[part]
    action = operation["op"]
    if isinstance(target, list):
        index = len(target) if last == "-" else int(last)
        if not 0 <= index <= len(target) - (action != "add"):
            raise IndexError(last)
        if action == "add":
            target.insert(index, copy.deepcopy(operation["value"]))
        elif action == "remove":
            del target[index]
        else:
            target[index] = copy.deepcopy(operation["value"])
    elif action == "add":
        target[last] = copy.deepcopy(operation["value"])
    elif last not in target:
        raise KeyError(last)
    elif action == "remove":
        del target[last]
    elif action == "replace":
        target[last] = copy.deepcopy(operation["value"])
    else:
        raise ValueError(action)
