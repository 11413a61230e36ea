"""The one aggregate: `decide` what a command means for an entity, `evolve` it by the events."""

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from domain import events
from domain.aggregate import commands
from domain.aggregate.curation import adds_only_source_hash, ingested
from domain.aggregate.lifecycle import (
    FIRST_VERSION,
    MAJOR,
    MINOR,
    check_transition,
    format_version,
    version_step,
)
from domain.errors import Conflict, InvalidInput, NotFound, StaleVersion
from domain.events import Body, Event, encode
from domain.kinds.registry import ALL_KINDS
from domain.patches import json_diff, json_patch
from domain.patches.payload_bounds import check_entity_bytes, check_marks

STATUS = "entityStatus"
MAX_FORMER_NAMES = 100
"""The most qualified names that an entity keeps after it, or something above it, was renamed."""

_text = msgspec.json.Decoder(str)
_pack = msgspec.msgpack.Encoder().encode


class Entity(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The state of an entity after the events of its stream up to `stream_version`."""

    id: str
    kind: str
    name: str
    fqn: str
    parent_id: str | None
    body: Body
    """Without the name; values are JSON bytes, so that copying and comparing them is cheap."""
    version: int
    """Decimal version in tenths."""
    stream_version: int
    """Place of the last event in the entity's stream, from 1."""
    updated_at: int
    updated_by: str
    request_id: str
    """Request that the last event came by."""
    deleted_by: str | None = None
    """Request that soft-deleted it, None while it is live."""
    deleted_at: int = 0
    """Milliseconds since the Unix epoch at which it was soft-deleted; 0 while it is live."""
    former_names: tuple[str, ...] = ()
    """Qualified names that it had before, the latest last; nobody else can have them."""
    purged: bool = False
    remarks: int = 0
    """Number of its events that left it as it was, see `events.REMARKS`."""
    judged: events.ContractJudged | None = None
    """The newest verdict on a contract."""

    @property
    def deleted(self) -> bool:
        """True if the entity is soft-deleted."""
        return self.deleted_by is not None

    @property
    def status(self) -> str | None:
        """Value of `entityStatus`, for kinds that have one."""
        raw = self.body.get(STATUS)
        return None if raw is None else _text.decode(raw)

    @property
    def last_event(self) -> str:
        """Digest, 8 hexadecimal characters, of which entity this is and of its last event; where
        there are remarks on it, their number follows after a point.

        It tells states apart that have the same version: of an entity that was purged and of the
        one that has its name now, and of an event that a log lost and of the one in its place.
        """
        return f"{self.last_change}.{self.remarks}" if self.remarks else self.last_change

    @property
    def last_change(self) -> str:
        """The digest of `last_event` but for remarks: a write is held to no more than this."""
        place = self.stream_version - self.remarks
        event = self.id, place, self.updated_at, self.updated_by, self.request_id
        return blake2b(_pack(event), digest_size=4).hexdigest()

    def value(self, key: str) -> Any:
        """The decoded value of one key of the body, None when it is absent."""
        raw = self.body.get(key)
        return None if raw is None else msgspec.json.decode(raw)


def decide(command: commands.Command, state: Entity | None) -> list[Event]:
    """The events that carry out the command; none when it changes nothing.

    Raises NotFound, Conflict, InvalidTransition, InvalidInput or StaleVersion.
    """
    if isinstance(command, commands.CreateEntity):
        return _create(command, state)
    if state is None or state.purged:
        raise NotFound("there is no such entity")
    check_version(state, command.expected_version)
    if command.expected_event not in (None, state.last_change):
        raise StaleVersion(
            f"{state.kind} {state.fqn!r} is at version {format_version(state.version)}, but at"
            " another one than the entity tag is of: that one is gone"
        )
    if isinstance(command, commands.ChangeEntity):
        return _change(command, state)
    if isinstance(command, commands.FollowRenaming):
        return _follow(command, state)
    if isinstance(command, commands.PurgeEntity):
        return [_event(events.EntityPurged, command, state.kind, state.version)]
    after = state.kind, state.version + MINOR
    if isinstance(command, commands.SoftDeleteEntity):
        return [] if state.deleted else [_event(events.EntitySoftDeleted, command, *after)]
    return [_event(events.EntityRestored, command, *after)] if state.deleted else []


def check_version(state: Entity, expected: int | None) -> None:
    """Raise StaleVersion for an entity that is not at a version, in tenths; None is any version."""
    if expected not in (None, state.version):
        raise StaleVersion(
            f"{state.kind} {state.fqn!r} is at version {format_version(state.version)},"
            f" not {format_version(expected or 0)}"
        )


def _create(command: commands.CreateEntity, state: Entity | None) -> list[Event]:
    if state is not None:
        raise Conflict(f"id {state.id} is the id of {state.kind} {state.fqn!r}")
    body = command.body
    check_entity_bytes(_size(body))
    check_marks(body)
    statuses = ALL_KINDS[command.kind].statuses
    if statuses and STATUS not in body:
        body = {**body, STATUS: encode(statuses[0])}
    own = {"name": command.name, "fqn": command.fqn, "parent_id": command.parent_id}
    return [_event(events.EntityCreated, command, command.kind, FIRST_VERSION, body=body, **own)]


def _size(body: Body) -> int:
    """Bytes of JSON that the values of a body take."""
    return sum(map(len, body.values()))


def _change(command: commands.ChangeEntity, state: Entity) -> list[Event]:
    made: list[tuple[type[Event], dict[str, Any]]] = []
    if state.deleted:
        made.append((events.EntityRestored, {}))
    target = command.body
    if command.ingestion is not None:
        target = ingested(ALL_KINDS[state.kind], state.body, target, command.ingestion)
    if (size := _size(target)) > _size(state.body):
        check_entity_bytes(size)
    check_marks(target, state.body)
    for key in ALL_KINDS[state.kind].fixed:
        new, old = target.get(key), state.body.get(key)
        if new != old and _first(new) != _first(old):
            raise InvalidInput(
                f"{key} of a {state.kind} cannot be changed: its qualified name stands on it"
            )
    if STATUS in state.body:
        after = target.get(STATUS, state.body[STATUS])
        if after != state.body[STATUS]:
            status = msgspec.json.decode(after, type=str)
            check_transition(state.status or "", status)
            made.append((events.EntityStatusChanged, {"status": status}))
    if command.renaming is not None and command.renaming.fqn != state.fqn:
        named = command.renaming
        _check_former_names(state, named.fqn)
        made.append((events.EntityRenamed, {"name": named.name, "fqn": named.fqn}))
    patch, step = _patch(state, target)
    if command.ingestion is not None and adds_only_source_hash(state.body, patch):
        patch = []
    if patch:
        made.append((events.EntityChanged, {"patch": patch}))
    version = state.version + step
    return [_event(event, command, state.kind, version, **fields) for event, fields in made]


def _follow(command: commands.FollowRenaming, state: Entity) -> list[Event]:
    if (size := _size(command.body)) > _size(state.body):
        check_entity_bytes(size)
    patch, step = _patch(state, command.body)
    made: list[Event] = []
    after = state.kind, state.version + step
    if command.fqn != state.fqn:
        _check_former_names(state, command.fqn)
        named = _event(events.EntityRenamed, command, *after, name=state.name, fqn=command.fqn)
        made.append(named)
    if patch:
        made.append(_event(events.EntityChanged, command, *after, patch=patch))
    return made


def _check_former_names(state: Entity, fqn: str) -> None:
    """Raise InvalidInput where another name would leave an entity with too many former ones."""
    if fqn not in state.former_names and len(state.former_names) >= MAX_FORMER_NAMES:
        raise InvalidInput(
            f"{state.kind} {state.fqn!r} had {MAX_FORMER_NAMES} other names before, and keeps them,"
            " which is the most: it may have one of them again"
        )


def _first(raw: Raw | None) -> Any:
    """Return the name on which the qualified name stands: of a list, its first element."""
    value = None if raw is None else msgspec.json.decode(raw)
    return value[:1] if isinstance(value, list) else value


def _patch(state: Entity, target: Body) -> tuple[list[json_patch.Operation], int]:
    """Operations from the state's body to the target's, and the step of the version."""
    patch: list[json_patch.Operation] = []
    step = MINOR
    columns = ALL_KINDS[state.kind].columns
    for key in sorted(state.body.keys() | target.keys()):
        if key == STATUS or state.body.get(key) == target.get(key):
            continue
        path = f"/{json_patch.escape(key)}"
        if key not in target:
            patch.append({"op": "remove", "path": path})
            step = MAJOR if key == columns else step
        elif key not in state.body:
            new = msgspec.json.decode(target[key])
            patch.append({"op": "add", "path": path, "value": new})
        else:
            part = json_diff.differing(state.body[key], target[key])
            aligned = part and json_diff.diff_named(part[0], part[1], path, part[2])
            if aligned is None:
                new = msgspec.json.decode(target[key])
                aligned = json_diff.diff(state.value(key), new, path)
            patch += aligned
            if part and key == columns:
                step = version_step(part[0], part[1])
    return patch, step


def _event(
    event: type[Event], command: commands.Command, kind: str, version: int, **fields: Any
) -> Event:
    """An event of an entity of a kind; all events of one command share one resulting version."""
    return event(
        kind=kind,
        actor=command.actor,
        at=command.at,
        version=version,
        request_id=command.request_id,
        via=command.via,
        **fields,
    )


def evolve(state: Entity | None, event: Event, entity_id: str) -> Entity:
    """The state after one more event of the entity's stream."""
    if isinstance(event, events.EntityCreated):
        return Entity(
            id=entity_id,
            kind=event.kind,
            name=event.name,
            fqn=event.fqn,
            parent_id=event.parent_id,
            body=event.body,
            version=event.version,
            stream_version=1,
            updated_at=event.at,
            updated_by=event.actor,
            request_id=event.request_id,
        )
    if state is None:
        raise ValueError(f"stream {entity_id} does not begin with a creation")
    if isinstance(event, events.REMARKS):
        judged = event if isinstance(event, events.ContractJudged) else state.judged
        return replace(
            state,
            judged=judged,
            remarks=state.remarks + 1,
            stream_version=state.stream_version + 1,
        )
    body, deleted_by, purged = state.body, state.deleted_by, state.purged
    deleted_at, name, fqn, former_names = (
        state.deleted_at,
        state.name,
        state.fqn,
        state.former_names,
    )
    if isinstance(event, events.EntityChanged):
        body = apply_patch(body, event.patch)
    elif isinstance(event, events.EntityStatusChanged):
        body = {**body, STATUS: encode(event.status)}
    elif isinstance(event, events.EntitySoftDeleted):
        deleted_by, deleted_at = event.request_id, event.at
    elif isinstance(event, events.EntityRestored):
        deleted_by, deleted_at = None, 0
    elif isinstance(event, events.EntityRenamed):
        # A name that it has again is none of its former ones.
        former_names = tuple(each for each in (*former_names, fqn) if each != event.fqn)
        name, fqn = event.name, event.fqn
    elif isinstance(event, events.EntityPurged):
        purged = True
    return replace(
        state,
        name=name,
        fqn=fqn,
        former_names=former_names,
        body=body,
        version=event.version,
        stream_version=state.stream_version + 1,
        updated_at=event.at,
        updated_by=event.actor,
        request_id=event.request_id,
        deleted_by=deleted_by,
        deleted_at=deleted_at,
        purged=purged,
    )


def apply_patch(body: Body, patch: Iterable[json_patch.Operation]) -> Body:
    """The body after the operations; only the keys they touch are decoded."""
    # A dict, not a set: new keys must come in the same order in every process.
    touched = dict.fromkeys(json_patch.pointer(operation["path"])[0] for operation in patch)
    values = {key: msgspec.json.decode(body[key]) for key in touched if key in body}
    values = json_patch.apply(values, patch)
    changed = {key: encode(values[key]) if key in values else None for key in touched}
    merged = {**body, **changed}
    return {key: raw for key, raw in merged.items() if raw is not None}
