"""Events of the log as people read them: what was done, and the first of what it changed."""

from collections.abc import Mapping
from typing import Any

from api.pages.documents import cut, json_lines
from api.pages.rendering import words
from domain.registry import KINDS

_CHANGES, _CHARACTERS = 12, 600
"""How many changes of an event the stream shows, and how many characters of each value."""
VERBS: Mapping[str, str] = {
    "entity.created": "created",
    "entity.changed": "changed",
    "entity.status-changed": "set the status of",
    "entity.soft-deleted": "deleted",
    "entity.restored": "restored",
    "entity.purged": "purged",
}
"""Type of event -> what somebody did to the entity."""


def event_line(event: Mapping[str, Any]) -> dict[str, Any]:
    """An event as the stream shows it: what was done, and the first of what it changed."""
    if "body" in event:
        changes = [("", f"/{key}", value) for key, value in event["body"].items()]
    else:
        changes = [(each["op"], each["path"], each.get("value")) for each in event.get("patch", ())]
    touched = dict.fromkeys(words(path.split("/")[1]) for _, path, _ in changes if "/" in path)
    status = event.get("status")
    return {
        "position": event["position"],
        "entity": event["entityId"],
        "kind": event["kind"],
        "is_shown": event["kind"] in KINDS,
        "fqn": event["fullyQualifiedName"],
        "type": event["eventType"],
        "verb": VERBS[event["eventType"]],
        "version": event["version"],
        "actor": event["actor"],
        "time": event["time"],
        "request": event["requestId"],
        "about": f"to {status}" if status else "" if "body" in event else ", ".join(touched),
        "changes": [
            (sort, path, cut(formatted(value), _CHARACTERS) if value is not None else None)
            for sort, path, value in changes[:_CHANGES]
        ],
        "more": max(len(changes) - _CHANGES, 0),
    }


def formatted(value: Any) -> str:
    """A value as people read it: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json_lines(value)
