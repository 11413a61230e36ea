"""Events of the log in the words of people: the action, and the beginning of its changes."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from api.pages.frame.documents import cut, formatted
from api.pages.frame.rendering import words
from domain.kinds.registry import KINDS

_CHANGES, _CHARACTERS = 12, 600
"""Most changes of an event that the stream shows, and most characters of each value."""
_NOTHING = Raw(b"null")
VERBS: Mapping[str, str] = {
    "entity.created": "created",
    "entity.changed": "changed",
    "entity.status-changed": "set the status of",
    "entity.soft-deleted": "deleted",
    "entity.restored": "restored",
    "entity.purged": "purged",
}
"""Type of event -> verb for the action on the entity."""


class ShownEvent(msgspec.Struct, rename="camel"):
    """An event as the API returns it; its changes are not decoded."""

    position: int
    entity_id: str
    kind: str
    fully_qualified_name: str
    event_type: str
    version: float
    actor: str
    time: int
    request_id: str
    status: str | None = None
    body: Raw | UnsetType = UNSET
    patch: Raw | UnsetType = UNSET


class _Page(msgspec.Struct):
    data: list[ShownEvent]
    paging: dict[str, int]


class _Operation(msgspec.Struct):
    op: str
    path: str
    value: Raw = _NOTHING


_page = msgspec.json.Decoder(_Page)
_by_key = msgspec.json.Decoder(dict[str, Raw])
_operations = msgspec.json.Decoder(list[_Operation])


def read_page(answer: bytes) -> tuple[list[ShownEvent], dict[str, int]]:
    """The events of an AuditPage, and its paging."""
    page = _page.decode(answer)
    return page.data, page.paging


def event_line(event: ShownEvent) -> dict[str, Any]:
    """An event as the stream shows it: the action, and the beginning of its changes."""
    if event.body is not UNSET:
        changes = [("", f"/{key}", value) for key, value in _by_key.decode(event.body).items()]
    elif event.patch is not UNSET:
        changes = [(each.op, each.path, each.value) for each in _operations.decode(event.patch)]
    else:
        changes = []
    touched = dict.fromkeys(words(path.split("/")[1]) for _, path, _ in changes if "/" in path)
    return {
        "position": event.position,
        "entity": event.entity_id,
        "kind": event.kind,
        "is_shown": event.kind in KINDS,
        "fqn": event.fully_qualified_name,
        "type": event.event_type,
        "verb": VERBS[event.event_type],
        "version": event.version,
        "actor": event.actor,
        "time": event.time,
        "request": event.request_id,
        "about": f"to {event.status}"
        if event.status
        else ""
        if event.body is not UNSET
        else ", ".join(touched),
        "changes": [
            (
                sort,
                path,
                None if value == _NOTHING else cut(formatted(value, _CHARACTERS + 1), _CHARACTERS),
            )
            for sort, path, value in changes[:_CHANGES]
        ],
        "more": max(len(changes) - _CHANGES, 0),
    }
