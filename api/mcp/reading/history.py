"""`get_history`: who changed an entity, when, through which door, and what it was before."""

import time
from collections.abc import Iterator
from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from api.callers.permissions import Action
from api.mcp.answers import Answer, fill, short
from api.mcp.asking import Asked, Cursor, Named, first_moment, id_of_named, viewed
from api.mcp.cleaning import plain
from api.use_cases.seen_changes import is_withheld
from domain.events import Via
from domain.reading.timeline import TimelineChange, TimelineStep, read_steps
from projections.operation.proofs import LOG, read_proofs
from projections.visibility.withholding import Withheld

MOST_VALUE, MOST_CHANGES = 600, 10
"""Characters of an old or a new value, and changes of one version, that are shown."""
_BATCH, _SECONDS = 100, 0.5
"""Versions that are read at once, and how long one call goes on with further ones."""
_WRITTEN = ("updatedAt", "updatedBy")


class GetHistory(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments."""

    entity: Named
    field: Annotated[
        str, Meta(max_length=256, description="Only changes of it and below it: owners.")
    ] = ""
    since: Annotated[str, Meta(max_length=64, description="2026-11-01T12:00:00Z.")] = ""
    cursor: Cursor = ""


class Change(msgspec.Struct, frozen=True, omit_defaults=True):
    """A change of a field; values are data, whatever they say."""

    field: str
    how: str
    old: str | UnsetType = UNSET
    new: str | UnsetType = UNSET


class Version(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What one request did."""

    version: str
    position: int
    request_id: str
    events: tuple[str, ...]
    time: int | UnsetType = UNSET
    """Milliseconds since 1970."""
    actor: str | UnsetType = UNSET
    via: Via | None = None
    """The door that the request came through, and who acted for the actor."""
    changes: list[Change]
    more_changes: int = 0


class Verified(msgspec.Struct, frozen=True):
    """The last verification of the whole log."""

    verdict: str
    position: int
    time: int


class History(Answer, kw_only=True, omit_defaults=True):
    """The answer, the newest version first."""

    versions: list[Version]
    log_verified: Verified | None = None


async def get_history(asked: Asked, given: GetHistory) -> History:
    """A page of versions, from the newest or from where a cursor goes on."""
    pinned, before = asked.place(given.cursor)
    since = first_moment(given.since)
    return await asked.services.heavy_read(
        asked.request, partial(_page, asked, given, since, pinned, before)
    )


def _page(asked: Asked, given: GetHistory, since: int, pinned: int | None, before: int) -> History:
    kind = viewed(asked.access, given.entity)
    log = asked.services.stores.log
    # Refuse an entity that is gone, or that the caller may not read now.
    asked.read(given.entity, (), None)
    entity_id = id_of_named(log, kind, given.entity)
    withheld = asked.access.withheld(Action.VIEW, kind.name)
    if withheld and given.field:
        withheld.refuse_field(given.field, "field")
    position = log.head() if pinned is None else pinned
    proof = read_proofs(asked.services.stores.directory).get(LOG)
    steps = _Steps(asked, entity_id, partial(_told, withheld, given.field), since, before or None)
    rows = (_version(step, withheld) for step in steps.of(given.field))
    shown, more = fill(asked.room(), rows)
    place = steps.seen[more] if more is not None else steps.unread
    return History(
        position=position,
        request_id=asked.request_id,
        versions=shown,
        log_verified=None if proof is None else Verified(proof.verdict, proof.position, proof.at),
        cursor=asked.cursors.made(position, place),
    )


class _Steps:
    """Goes through the versions of an entity, the newest first, as far as one call may."""

    def __init__(
        self,
        asked: Asked,
        entity_id: str,
        tell: Any,
        since: int,
        before: int | None,
    ) -> None:
        self._log = asked.services.stores.log
        self._entity_id = entity_id
        self._tell = tell
        self._since = since
        self._before = before
        self.seen: list[int] = []
        """For each version given so far: the stream version to pass as `before` to get it again."""
        self.unread: int | None = None
        """The stream version at which a bound ended the walk; None if no bound did."""

    def of(self, field: str) -> Iterator[TimelineStep[Change]]:
        """The versions; those that change the field, where one is asked for."""
        deadline = time.monotonic() + _SECONDS
        while True:
            steps = read_steps(
                self._log, self._entity_id, self._tell, limit=_BATCH, before=self._before
            )
            for step in steps:
                if step.at < self._since:
                    return
                following = self._before
                self._before = step.stream_version
                if step.changes or not field:
                    self.seen.append(following or step.stream_version + len(step.event_types))
                    yield step
            if len(steps) < _BATCH:
                return
            if time.monotonic() >= deadline:
                self.unread = self._before
                return


def _told(withheld: Withheld | None, field: str, change: TimelineChange) -> Change | None:
    """A change as far as the caller may see it; None for another field, or a withheld change."""
    path = ".".join(change.keys)
    if field and path != field and not path.startswith(f"{field}."):
        return None
    if withheld is not None and is_withheld(withheld, change):
        return None
    steps = [text for at, text in change.steps if withheld is None or not withheld.covers(at)]
    hides_part = withheld is not None and any(
        each.startswith(f"{path}.") for each in withheld.paths
    )
    return Change(
        short("name", " · ".join(steps), MOST_VALUE),
        change.sort,
        UNSET if change.old is None or hides_part else _value(path, change.old),
        UNSET if change.new is None or hides_part else _value(path, change.new),
    )


def _value(path: str, value: Any) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return short(path, text, MOST_VALUE)


def _version(step: TimelineStep[Change], withheld: Withheld | None) -> Version:
    at, actor = (withheld is not None and withheld.covers(key) for key in _WRITTEN)
    return Version(
        version=step.version,
        position=step.position,
        request_id=step.request_id,
        events=step.event_types,
        time=UNSET if at else step.at,
        actor=UNSET if actor else plain(step.actor),
        via=None if actor else step.via,
        changes=list(step.changes[:MOST_CHANGES]),
        more_changes=max(0, len(step.changes) - MOST_CHANGES),
    )
