"""Events of the log in the words of people: the action, and the beginning of its changes."""

from collections.abc import Mapping
from functools import cached_property

import msgspec
from msgspec import UNSET, Raw, UnsetType

from api.pages.frame.documents import cut, formatted, words
from domain.kinds.registry import KINDS

_CHARACTERS = 600
"""Most characters of each value that the stream shows."""
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


class _Operation(msgspec.Struct):
    op: str
    path: str
    value: Raw = _NOTHING


class ShownEvent(msgspec.Struct, rename="camel", dict=True):
    """An event as the API returns it; its changes are decoded as far as they are shown."""

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

    @property
    def verb(self) -> str:
        """The action on the entity."""
        return VERBS[self.event_type]

    @property
    def has_page(self) -> bool:
        """True of an entity that a page shows, be it deleted."""
        return self.kind in KINDS and self.event_type != "entity.purged"

    @cached_property
    def changes(self) -> list[_Operation]:
        """The changes of the entity; of a creation, each of its keys."""
        if self.body is not UNSET:
            by_key = _by_key.decode(self.body)
            return [_Operation("", f"/{key}", value) for key, value in by_key.items()]
        return [] if self.patch is UNSET else _operations.decode(self.patch)

    @property
    def about(self) -> str:
        """The new status, or the keys that were changed."""
        if self.status or self.body is not UNSET:
            return f"to {self.status}" if self.status else ""
        paths = (each.path.split("/") for each in self.changes if "/" in each.path)
        return ", ".join(dict.fromkeys(words(path[1]) for path in paths))

    def beginning(self, most: int) -> list[tuple[str, str, str | None]]:
        """The first changes: the operation, the path, and the beginning of the value, if any."""
        return [
            (each.op, each.path, None if each.value == _NOTHING else _shown(each.value))
            for each in self.changes[:most]
        ]


class _Page(msgspec.Struct):
    data: list[ShownEvent]
    paging: dict[str, int]


_page = msgspec.json.Decoder(_Page)
_by_key = msgspec.json.Decoder(dict[str, Raw])
_operations = msgspec.json.Decoder(list[_Operation])


def _shown(value: Raw) -> str:
    return cut(formatted(value, _CHARACTERS + 1), _CHARACTERS)


def read_page(answer: bytes) -> tuple[list[ShownEvent], dict[str, int]]:
    """The events of an AuditPage, and its paging."""
    page = _page.decode(answer)
    return page.data, page.paging
