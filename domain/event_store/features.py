"""The features of a log: the parts of the stored format that its events use.

A feature is named when an event first uses it, in the transaction that stores the event, together
with the release that first knew it. So a program can tell that a log is of a later release, and of
which one, before it reads or writes what it would not understand:

    event:entity.renamed           a type of events
    field:entity.created.parentId  a field that events of a type may leave out; the others come
                                   with the type, as fields are only ever added with defaults
    schema:entity.changed.2        a schema of events above 1 (`domain.aggregate.upcasters`)
    kind:table                     a kind of entity
    key:dataContract.odcs          a key of bodies that paths of its own alone show; a program that
                                   does not know it would show it to everybody
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import msgspec

from domain.aggregate.upcasters import UPCASTERS, current_schema
from domain.errors import LaterRelease, shown
from domain.events import EVENT_TYPES, EntityChanged, EntityCreated, Event
from domain.kinds.registry import ALL_KINDS
from domain.patches.json_patch import pointer
from domain.release import RELEASE

FIRST = "0.2.0"
"""The first release that named features: a log that names none was written before it."""

_OF_EVENTS: Mapping[str, tuple[str, ...]] = {
    FIRST: (
        "event:entity.created",
        "event:entity.changed",
        "event:entity.status-changed",
        "event:entity.soft-deleted",
        "event:entity.restored",
        "event:entity.purged",
        "field:entity.created.parentId",
    ),
    "0.3.0": (
        "key:dataContract.odcs",
        "event:contract.judged",
        "field:contract.judged.validUntil",
        "field:contract.judged.latest",
        "event:contract.breaking",
        "event:entity.renamed",
        *(f"field:{name}.via" for name in EVENT_TYPES),
    ),
}
"""Release -> the features other than kinds that it was the first to know. Whoever adds one names
the release here in which it is to appear, and that of a kind in the kind's row."""

KNOWN: Mapping[str, str] = MappingProxyType(
    {name: release for release, names in _OF_EVENTS.items() for name in names}
    | {f"kind:{kind.name}": kind.since for kind in ALL_KINDS.values()}
)
"""Feature -> the release that introduced it, of all features that this program knows."""

EARLIEST: Mapping[str, str] = MappingProxyType(
    {name: release for name, release in KNOWN.items() if release == FIRST}
)
"""The features that an older log, which names none, is taken to use.

Such a log cannot use others, and every program that knows features knows all of these, so reading
the whole log for those that it really uses would change nothing.
"""

_SHOWN = 3
_RELEASE = re.compile(r"[0-9]{1,4}(\.[0-9]{1,4}){0,3}")


def _of_type(name: str) -> frozenset[str]:
    """The features of all events of a type."""
    schema = current_schema(name, UPCASTERS)
    return frozenset({f"event:{name}"} | ({f"schema:{name}.{schema}"} if schema > 1 else set()))


_OF_TYPE = {event_type: _of_type(name) for name, event_type in EVENT_TYPES.items()}
_OPTIONAL: Mapping[type[Event], tuple[tuple[str, Any, str], ...]] = {
    event_type: tuple(
        (field.name, field.default, f"field:{name}.{field.encode_name}")
        for field in msgspec.structs.fields(event_type)
        if not field.required
    )
    for name, event_type in EVENT_TYPES.items()
}
"""Event class -> attribute, default and feature of each field that its events may leave out."""


def features_of(events: Iterable[Event]) -> frozenset[str]:
    """The features that events use."""
    sorts = set()
    for event in events:
        optional = _OPTIONAL[type(event)]
        given = [name for field, default, name in optional if getattr(event, field) != default]
        given += _apart_keys(event)
        sorts.add((type(event), event.kind, tuple(given)))
    return frozenset().union(*(_of_sort(*sort) for sort in sorts))


def _apart_keys(event: Event) -> list[str]:
    """The features of the keys with paths of their own that an event gives a body."""
    keys = ALL_KINDS[event.kind].apart
    if not keys:
        return []
    held: Iterable[str] = ()
    if isinstance(event, EntityCreated):
        held = event.body
    elif isinstance(event, EntityChanged):
        held = (pointer(operation["path"])[0] for operation in event.patch)
    return [f"key:{event.kind}.{key}" for key in sorted(keys.intersection(held))]


@lru_cache(maxsize=1_000)
def _of_sort(event_type: type[Event], kind: str, given: tuple[str, ...]) -> frozenset[str]:
    """The features of events of a type and kind that have these optional fields and keys."""
    return _OF_TYPE[event_type] | {f"kind:{kind}", *given}


def named(features: Iterable[str]) -> list[tuple[str, str]]:
    """Pairs of a feature and the release that introduced it, in order.

    Raises LaterRelease for a feature that this program does not know.
    """
    refuse_unknown(dict.fromkeys(features, ""), "what is to be stored")
    return [(name, KNOWN[name]) for name in sorted(features)]


class Known(msgspec.Struct, frozen=True):
    """The features that a log named at one moment, all of which this program knows."""

    newest: int = -1
    """A number that grows with each feature that is named and each name that changes; 0 at first.
    No log has the number -1."""
    names: frozenset[str] = frozenset()
    epoch: int = 0
    """The epoch of the connection that read them: a server that crashed may have lost the newest,
    and another feature may have its number now."""
    renames: int = 0
    """The number of changes of names."""


def later_event(what: str) -> LaterRelease:
    """The error for an event that uses `what`, of an unknown later release."""
    return LaterRelease(f"an event has {what}, which this release ({RELEASE}) does not know")


def refuse_unknown(features: Mapping[str, str], what: str) -> None:
    """Raise LaterRelease when `what` uses features that this program does not know.

    `features` are the names and the release that first knew each, as `what` has them.
    """
    unknown = [(name, since) for name, since in features.items() if name not in KNOWN]
    if not unknown:
        return
    names = ", ".join(
        name[:80] if str(name).isprintable() else shown(name) for name, _ in unknown[:_SHOWN]
    )
    more = f" and {len(unknown) - _SHOWN} more" if len(unknown) > _SHOWN else ""
    releases = [since for _, since in unknown if _RELEASE.fullmatch(str(since))]
    newest = max(releases, key=lambda each: [*map(int, each.split("."))], default="")
    knowing = f"release {newest} knows it" if newest else "a later one knows it"
    raise LaterRelease(
        f"{what} uses {names}{more}, which this release ({RELEASE}) does not know: {knowing}"
    )
