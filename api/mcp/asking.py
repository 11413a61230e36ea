"""A call of a tool: who asks, of which moment, and of which entity."""

import re
from collections import deque
from collections.abc import Iterable
from difflib import get_close_matches
from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from api.callers.permissions import Access, Action
from api.declaring.signatures import AnyRequest
from api.mcp.answers import Cursors, Room
from api.services import Services
from api.use_cases.entity_reads import entity_form, read_entity
from api.use_cases.past import position_asked, read_past_entity
from api.use_cases.searcher import Searcher
from domain.aggregate.lifecycle import format_version
from domain.errors import InvalidInput, NotFound, about, shown
from domain.event_store.port import EventStore
from domain.events import Via
from domain.kinds.entity_kind import EntityKind
from domain.kinds.ids import parse_id
from domain.kinds.registry import KINDS
from projections.entities.list_port import Include
from projections.search.language import dates

_VERSION = re.compile(r"[0-9]{1,9}\.[0-9]").fullmatch
_POSITION = re.compile(r"@[0-9]{1,18}").fullmatch
_ID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}").fullmatch

AsOf = Annotated[
    str,
    Meta(max_length=64, description="2026-11-01T12:00:00Z, or @position."),
]
Cursor = Annotated[
    str,
    Meta(max_length=3_900, description="With the same arguments."),
]


class Named(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An entity, as searches name it."""

    kind: Annotated[str, Meta(max_length=64)]
    name: Annotated[str, Meta(min_length=1, max_length=3_072, description="Qualified name, or id.")]


class Shown(msgspec.Struct, frozen=True):
    """An entity in an answer, which a call may name so."""

    kind: str
    name: str


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """The request, the caller and the services that a tool is given beside its arguments."""

    services: Services
    searcher: Searcher
    request: AnyRequest
    cursors: Cursors
    most: int
    """Characters that the answer may have."""
    via: Via
    """The door, the tool, and who acts for the caller, as events record them."""

    @property
    def access(self) -> Access:
        """The rights of the caller."""
        access: Access = self.request.auth
        return access

    @property
    def request_id(self) -> str:
        """The id under which the log knows the call."""
        request_id: str = self.request.scope["state"]["request_id"]
        return request_id

    def room(self) -> Room:
        """The characters that an answer has, none of which is taken."""
        return Room(self.most)

    def place(self, cursor: str) -> tuple[int | None, int]:
        """The position of a cursor, None without one, and the number of rows before the cursor.

        Raises InvalidInput.
        """
        if not cursor:
            return None, 0
        position, place = self.cursors.read(cursor)
        return position, int(place)

    async def position(
        self, as_of: str, which: Named | None = None, *, searched: bool = False
    ) -> int | None:
        """The position that a call is of; None for the present.

        If `as_of` is a version, it is one of the entity `which`. Raises InvalidInput, NotFound, and
        what `position_asked` raises.
        """
        if not as_of:
            return None
        if _VERSION(as_of):
            if which is None:
                raise InvalidInput("as_of: a version is of one entity: give a time, or @position")
            kind = viewed(self.access, which)
            find = partial(_position_of_version, self.services, kind, which, as_of)
            return await self.services.heavy_read(self.request, find)
        at, time = (as_of[1:], None) if _POSITION(as_of) else (None, as_of)
        try:
            return await position_asked(self.services, self.request, at, time, searched=searched)
        except InvalidInput as error:
            raise InvalidInput(f"as_of: {error.message.removeprefix('asOf: ')}") from None

    def read(
        self,
        which: Named,
        fields: Iterable[str],
        position: int | None,
        most_bytes: int | None = None,
    ) -> tuple[bytes, dict[str, Any]]:
        """The JSON of an entity at a position (None: now), and the headers of its answer; blocks.

        Raises what `read_entity` and `read_past_entity` raise; of an entity of now EntityTooLarge
        if it may have more than `most_bytes`.
        """
        kind = viewed(self.access, which)
        given = {"fields": ",".join(fields) or None, "include": Include.ALL}
        if position is None:
            form = entity_form(kind, self.access, given)
            body, more = read_entity(self.services, kind, form, most_bytes, **which_of(kind, which))
        else:
            body, more = read_past_entity(
                self.services, kind, self.access, given, position, **which_of(kind, which)
            )
        headers: dict[str, Any] = more["headers"]
        return body, headers


def first_moment(since: str) -> int:
    """The first millisecond since 1970 of a time, 0 without one; raises InvalidInput."""
    if not since:
        return 0
    with about("since"):
        return dates.span(since).first


def kind_named(name: str) -> EntityKind:
    """The kind of a name; raises InvalidInput with names that are near to it."""
    kind = KINDS.get(name)
    if kind is None:
        near = get_close_matches(name, KINDS) or list(KINDS)
        raise InvalidInput(f"kind must be one of {', '.join(near)}, got {shown(name)}")
    return kind


def viewed(access: Access, which: Named) -> EntityKind:
    """The kind of an entity, which the caller may view; raises InvalidInput and Forbidden."""
    kind = kind_named(which.kind)
    access.require(Action.VIEW, kind.name)
    return kind


def which_of(kind: EntityKind, which: Named) -> dict[str, str]:
    """The id or the qualified name of an entity, as reads take it."""
    if _ID(which.name):
        return {"entity_id": parse_id(which.name, "name")}
    return {"fqn": kind.spelled(which.name)}


def id_of_named(store: EventStore, kind: EntityKind, which: Named) -> str:
    """The id of an entity; raises NotFound. Blocks."""
    if _ID(which.name):
        return parse_id(which.name, "name")
    claim = store.claim(kind.name, kind.spelled(which.name))
    if claim is None:
        raise NotFound(f"{kind.name} instance for {which.name} not found")
    return claim.id


def _position_of_version(services: Services, kind: EntityKind, which: Named, version: str) -> int:
    log = services.stores.log
    events = log.stream(id_of_named(log, kind, which))
    last = deque(
        (each.position for each in events if format_version(each.event.version) == version), 1
    )
    if not last:
        raise NotFound(f"{kind.name} instance for {which.name} never had a version {version}")
    return last[0]
