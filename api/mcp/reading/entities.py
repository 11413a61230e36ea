"""`get_entities`: entities with their facts and texts, as they are or were."""

from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from api.callers.permissions import Action
from api.errors import Forbidden
from api.mcp.answers import READ_TEXT, Answer, Room, Text, characters, fill, text_of
from api.mcp.asking import Asked, AsOf, Cursor, Named, viewed
from api.mcp.cleaning import plain
from api.mcp.facts import REFERENCE, at_path, exact_or_id, facts_of, is_text
from domain.errors import InvalidInput, RequestRefused
from domain.events import values_by_key
from domain.kinds.entity_kind import EntityKind
from projections.entities.port import EntityTooLarge

AT_ONCE_BYTES = 32_000
"""The most bytes of an entity that is read by a step of the event loop."""
UNASKED = ("owners", "tags", "domains")
"""Optional fields that are shown without being asked for."""
_BYTES_OF_CHARACTER = 4
_IDENTITY = ("id", "fullyQualifiedName", "version", "deleted")
_list = msgspec.json.Decoder(list[Raw])


class GetEntities(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments."""

    entities: Annotated[list[Named], Meta(min_length=1, max_length=10)]
    fields: Annotated[
        list[Annotated[str, Meta(max_length=256)]],
        Meta(max_length=20, description="Only these fields, dotted: owners, dataModel.sql."),
    ] = []
    as_of: AsOf = ""
    text_from: Annotated[
        int, Meta(ge=0, le=READ_TEXT, description="Go on with the text of the one field asked for.")
    ] = 0
    cursor: Cursor = ""


class LeftOut(msgspec.Struct, frozen=True, omit_defaults=True):
    """A field that finds no room, or that another tool reads."""

    field: str
    characters: int
    count: int | UnsetType = UNSET
    """Number of elements of a list."""
    read_with: str | UnsetType = UNSET


class EntityShown(msgspec.Struct, kw_only=True, omit_defaults=True):
    """An entity, or why it is not shown."""

    kind: str
    name: str
    id: str = ""
    version: Raw | UnsetType = UNSET
    deleted: bool = False
    facts: dict[str, Any] = {}
    texts: list[Text] = []
    left_out: list[LeftOut] = []
    more_left_out: int = 0
    """Number of fields that are left out and not named."""
    error: str = ""


class Entities(Answer, kw_only=True, omit_defaults=True):
    """The answer."""

    entities: list[EntityShown]


async def get_entities(asked: Asked, given: GetEntities) -> Entities:
    """The entities in the order in which they are asked for, each once, or with its own error."""
    given = msgspec.structs.replace(given, entities=[*dict.fromkeys(given.entities)])
    pinned, start = asked.place(given.cursor)
    sole = given.entities[0] if len(given.entities) == 1 else None
    goes_on = given.cursor or given.text_from
    if goes_on and (sole is None or len(given.fields) != 1):
        raise InvalidInput("cursor and text_from go on with one field of one entity")
    if pinned is None:
        pinned = await asked.position(given.as_of, sole)
    if pinned is None and sole is not None and not asked.services.stores.is_shared:
        # As a read over HTTP is: a thread would take longer than the answer.
        try:
            return _read(asked, given, pinned, start, AT_ONCE_BYTES)
        except EntityTooLarge:
            pass
    return await asked.services.heavy_read(
        asked.request, partial(_read, asked, given, pinned, start)
    )


def _read(
    asked: Asked,
    given: GetEntities,
    pinned: int | None,
    start: int,
    most_bytes: int | None = None,
) -> Entities:
    position = pinned
    if position is None:
        position = asked.services.stores.entities.checkpoint()
    left = asked.room().left
    shown: list[EntityShown] = []
    more = None
    for number, which in enumerate(given.entities):
        share = Room(0)
        share.left = left // (len(given.entities) - number)
        before = share.left
        one = EntityShown(kind=which.kind, name=plain(which.name))
        try:
            reading = _Reading(asked, given, share, one, most_bytes)
            more = reading.fill(which, pinned, start)
            position = max(position, reading.position)
            if any(one.id == other.id for other in shown):
                # The same entity by another name, or by its id.
                continue
        except (RequestRefused, Forbidden) as error:
            one = _refused(which, str(error), before)
            share.left = before - characters(msgspec.json.encode(one))
        left -= before - share.left
        shown.append(one)
    return Entities(
        position=position,
        request_id=asked.request_id,
        entities=shown,
        cursor=asked.cursors.made(position, more),
    )


def _refused(which: Named, error: str, room: int) -> EntityShown:
    """An entity with the reason why it is not shown; `room` is in characters of JSON."""
    part = room // 6
    return EntityShown(
        kind=which.kind, name=plain(which.name)[:part], error=plain(error)[: part + 100]
    )


class _Reading:
    """One entity on its way into an answer."""

    def __init__(
        self,
        asked: Asked,
        given: GetEntities,
        room: Room,
        shown: EntityShown,
        most_bytes: int | None,
    ) -> None:
        self._most_bytes = most_bytes
        self._asked = asked
        self._given = given
        self._room = room
        self._shown = shown
        # Apart, so that what fills an entity leaves the names of what it leaves out their room.
        self._names = room.left // 5
        room.left -= self._names
        self._sole = given.fields[0] if len(given.fields) == 1 else None
        self._text_from = given.text_from
        self.position = 0
        """Position of the entity's last event."""

    def fill(self, which: Named, pinned: int | None, start: int) -> int | None:
        """Fill in an entity; the place in the sole field's list from which on elements are left."""
        kind = viewed(self._asked.access, which)
        if withheld := self._asked.access.withheld(Action.VIEW, kind.name):
            for path in self._given.fields:
                withheld.refuse_field(path, "fields")
        body, headers = self._asked.read(which, self._wanted(kind), pinned, self._most_bytes)
        self.position = int(headers["X-Catalog-Position"])
        keys = values_by_key(body)
        shown = self._shown
        shown.kind = kind.name
        shown.id = msgspec.json.decode(keys["id"])
        shown.name = exact_or_id(msgspec.json.decode(keys["fullyQualifiedName"]), shown.id)
        if characters(msgspec.json.encode(shown.name)) > self._room.left // 2:
            shown.name = shown.id
        shown.version = keys["version"]
        shown.deleted = msgspec.json.decode(keys.get("deleted", b"false"))
        self._room.left -= 200 + characters(msgspec.json.encode(shown.name))
        if not self._given.fields:
            for key, raw in keys.items():
                if key not in _IDENTITY:
                    self._take(kind, key, raw, shown.facts)
            return None
        more = None
        for path in self._given.fields:
            found = at_path(keys, path)
            if found is None:
                raise InvalidInput(f"{kind.name} {shown.name} has no {path!r}")
            if path == self._sole and bytes(memoryview(found)[:1]) == b"[":
                more = self._take_elements(path, found, start)
            else:
                self._take(kind, path, found, shown.facts)
        return more

    def _wanted(self, kind: EntityKind) -> list[str]:
        """The optional fields to read."""
        if self._given.fields:
            return [each.partition(".")[0] for each in self._given.fields]
        withheld = self._asked.access.withheld(Action.VIEW, kind.name)
        return [
            each
            for each in UNASKED
            if each in kind.optional and not (withheld and withheld.covers(each))
        ]

    def _take(self, kind: EntityKind, path: str, raw: Raw, into: dict[str, Any]) -> None:
        """Put a value among the facts, or what stands in its place."""
        key = path if into is self._shown.facts else path.rpartition(".")[2]
        first = bytes(memoryview(raw)[:1])
        if path in kind.body.parts:
            self._leave_out(path, raw, read_with="list_columns")
        elif first == b"{" and not (inside := values_by_key(raw)).keys() >= REFERENCE:
            inner: dict[str, Any] = {}
            for name, value in inside.items():
                self._take(kind, f"{path}.{plain(name)}", value, inner)
            if inner and self._room.take(msgspec.json.encode(key) + b"{}:"):
                into[key] = inner
        elif len(memoryview(raw)) > _BYTES_OF_CHARACTER * max(self._room.left, 0) and first == b"[":
            self._leave_out(path, raw)
        else:
            self._take_value(path, key, raw, into)

    def _take_value(self, path: str, key: str, raw: Raw, into: dict[str, Any]) -> None:
        value = msgspec.json.decode(raw)
        if isinstance(value, str) and is_text(path, value):
            self._take_text(path, value)
            return
        texts: list[Text] = []
        value = facts_of(path, value, texts)
        if value in (None, [], {}) and not texts:
            return
        fits = self._room.take(msgspec.json.encode({key: value}) + msgspec.json.encode(texts))
        if not fits:
            self._leave_out(path, raw)
            return
        self._shown.texts += texts
        into[key] = value

    def _take_text(self, path: str, value: str) -> None:
        start = self._text_from if path == self._sole else 0
        text = text_of(path, value, start)
        if not self._room.take(msgspec.json.encode(text)):
            text = text_of(path, value, start, max(self._room.left // 2 - 100, 0))
            if not text.text or not self._room.take(msgspec.json.encode(text)):
                self._leave_out(path, Raw(msgspec.json.encode(value)))
                return
        self._shown.texts.append(text)

    def _take_elements(self, path: str, raw: Raw, start: int) -> int | None:
        """Take the elements of the one list that is asked for; the place of the first left out."""
        elements = _list.decode(raw)
        rows = [self._element(path, each) for each in elements[start:]]
        shown, more = fill(self._room, rows, start)
        self._shown.facts[path] = [value for value, _ in shown]
        for _, texts in shown:
            self._shown.texts += texts
        return more

    def _element(self, path: str, raw: Raw) -> tuple[Any, list[Text]]:
        texts: list[Text] = []
        value = facts_of(path, msgspec.json.decode(raw), texts)
        if characters(msgspec.json.encode((value, texts))) > self._room.left // 2:
            return {"left_out": len(memoryview(raw))}, []
        return value, texts

    def _leave_out(self, path: str, raw: Raw, read_with: str | UnsetType = UNSET) -> None:
        is_list = bytes(memoryview(raw)[:1]) == b"["
        count = len(_list.decode(raw)) if is_list else UNSET
        left_out = LeftOut(path, len(memoryview(raw)), count, read_with)
        self._names -= characters(msgspec.json.encode(left_out)) + 1
        if self._names < 0:
            self._shown.more_left_out += 1
        else:
            self._shown.left_out.append(left_out)
