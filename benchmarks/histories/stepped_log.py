"""The event log as an actor sees it: each call of the port is a point before and one after."""

from collections.abc import Iterator, Sequence
from typing import Any, cast

from benchmarks.histories.scheduling import point
from domain.event_store.appends import prepared
from domain.event_store.port import EventStore
from domain.event_store.writes import Append, Refusal

_SILENT = {"address", "identity", "epoch", "close", "size"}
"""Members at which nobody else could do anything that matters: they are asked under locks, too."""


class SteppedLog:
    """Passes every call on to a log; whatever the port is given later is stepped as well."""

    def __init__(self, log: EventStore) -> None:
        self._log = log
        self.grouped = False
        """True if appends are stored in a group of two, as those of busy hosts are."""

    def append_group(self, appends: Sequence[Append]) -> list[int | Refusal]:
        """As the port has it; the second append of a group of two stores nothing."""
        point("append_group ...")
        beside = [prepared([])] if self.grouped else []
        results = self._log.append_group([*appends, *beside])
        point("append_group done")
        return results[: len(appends)]

    def __getattr__(self, name: str) -> Any:
        """A member of the log; a method with its points."""
        member = getattr(self._log, name)
        if name in _SILENT or not callable(member):
            return member

        def call(*arguments: Any, **named: Any) -> Any:
            point(f"{name} ...")
            result = member(*arguments, **named)
            if isinstance(result, Iterator):
                return _stepped(name, result)
            point(f"{name} done")
            return result

        return call


def stepped(log: EventStore) -> tuple[EventStore, SteppedLog]:
    """A log with points, as the port, and as what can be told to group."""
    wrapped = SteppedLog(log)
    return cast("EventStore", wrapped), wrapped


def _stepped(name: str, items: Iterator[Any]) -> Iterator[Any]:
    for item in items:
        point(f"{name} gives")
        yield item
    point(f"{name} done")
