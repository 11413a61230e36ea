"""Draws what has waited for datasets, once they come: a reaction that follows the log.

A new table, topic or service may be what statements wait for, and so may new rules for names.
Statements that may wait for a new table are found by its name; for all else every waiting statement
is looked through, in pieces.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping

from msgspec import Struct

from domain.event_store.port import EventStore
from domain.events import EntityChanged, EntityCreated, EntityRenamed, EntityRestored, Event
from domain.kinds.ids import new_id
from domain.openlineage.keeping import LATE, WAITING, Keeping, Work
from domain.openlineage.kept_rows import key_of
from domain.openlineage.mapping_file import MappingFile
from domain.openlineage.missing_datasets import MISSING, missing_id
from domain.openlineage.naming import KIND_OF, SERVICE_KINDS
from domain.openlineage.outcomes import Outcome, Waiting, decode_waiting, leaf_of
from domain.openlineage.places import Places
from domain.openlineage.rights import EDGES_ALONE
from domain.openlineage.statements import DatasetName
from domain.openlineage.taking import Taker
from domain.write_context import WriteContext

_BATCH = 1_000
"""Events that one step looks at."""
_AT_ONCE = 200
"""Waiting statements that one step of a sweep looks through."""
_NAMED = 1_000
"""Statements that one new name may have waited for; where there are more, all are looked through.
"""
_MAKES = (EntityCreated, EntityRestored, EntityRenamed)
_FOUND_BY_NAME = frozenset(("table", "topic"))
_MAKES_OF: Mapping[str, tuple[type[Event], ...]] = {
    **dict.fromkeys(SERVICE_KINDS, (*_MAKES, EntityChanged)),
    **dict.fromkeys(KIND_OF.values(), _MAKES),
}
"""Kind -> the events of its entities that may bring a dataset which statements wait for."""


class LateDatasets:
    """Draws late edges, in one thread of the one process that leads.

    No position is stored: whenever the reaction begins, it looks through all waiting statements,
    and follows the log from there.
    """

    name = LATE

    def __init__(
        self,
        log: EventStore,
        taker: Taker,
        mapping: MappingFile,
        read_places: Callable[[], Places],
        listed: Callable[[], int],
    ) -> None:
        """`listed` tells up to which position of the log `read_places` knows the services."""
        self._log = log
        self._taker = taker
        self._mapping = mapping
        self._read_places = read_places
        self._listed = listed
        self._keeping: Keeping = taker.keeping
        self._position: int | None = None
        """The position of the log up to which events were looked at; None before the first step."""
        self._epoch = log.epoch()
        self._version = mapping.version
        """The version of the rules for names under which all that waits was looked through."""
        self._sweeps_after: str | None = None
        """The id after which a sweep of waiting statements goes on; None while there is none."""

    def begin(self) -> None:
        """Begin anew; to be called when this process begins to lead, or nothing waits."""
        self._position = None

    def step(self) -> int:
        """Draw what the next events have brought; 0 where there is nothing to do.

        Raises StoreUnavailable when trying again may help.
        """
        _ = self._mapping.rules
        if self._position is None or self._log.epoch() != self._epoch:
            self._epoch, self._position = self._log.epoch(), self._listed()
            self._sweeps_after = ""
        if self._mapping.version != self._version:
            self._version, self._sweeps_after = self._mapping.version, ""
        batch = self._log.read(self._position, _BATCH, self._listed())
        leaves: set[str] = set()
        for each in batch:
            event = each.event
            if event.kind in _FOUND_BY_NAME and isinstance(event, EntityCreated | EntityRenamed):
                leaves.add(leaf_of(event.name))
            elif isinstance(event, _MAKES_OF.get(event.kind, ())):
                self._sweeps_after = ""
        drawn = sum(map(self._draw_named, leaves))
        self._position = batch[-1].position if batch else self._position
        return len(batch) + drawn + self._sweep()

    def _draw_named(self, leaf: str) -> int:
        """Draw what waits for datasets of a name."""
        missing = self._keeping.labelled(MISSING, leaf, _NAMED)
        if len(missing) == _NAMED:
            self._sweeps_after = ""
            return 0
        ids = [id_[: len(key_of())] for id_ in missing]
        return self._draw(self._keeping.read(WAITING, ids))

    def _sweep(self) -> int:
        """Look through the next waiting statements; returns their number."""
        if self._sweeps_after is None:
            return 0
        rows = self._keeping.after(WAITING, self._sweeps_after, _AT_ONCE)
        self._sweeps_after = rows[-1][0] if rows else None
        self._draw(dict(rows))
        return len(rows)

    def _draw(self, held: dict[str, bytes]) -> int:
        """Draw those of some waiting statements of which a dataset has come."""
        waiting = {id_: decode_waiting(body) for id_, body in held.items()}
        if not waiting:
            return 0
        found = self._read_places().find(
            [name for each in waiting.values() for name in _datasets(each)],
            {name: links for each in waiting.values() for name, links in each.lineage.symlinks},
            self._log,
        )
        of_actor: defaultdict[str, list[_Late]] = defaultdict(list)
        for id_, each in waiting.items():
            ends = [found[name] for name in _datasets(each)]
            if any(end.claim is not None or end.ignored for end in ends):
                of_actor[each.actor].append(_Late(id_, each))
        for actor, late in of_actor.items():
            for start in range(0, len(late), _AT_ONCE):
                self._draw_of(actor, late[start : start + _AT_ONCE])
        return sum(map(len, of_actor.values()))

    def _draw_of(self, actor: str, late: list["_Late"]) -> None:
        """Draw what a caller has said, in the name of the caller."""
        context = WriteContext(actor=actor, request_id=new_id(), by_bot=True)
        statements = [each.waiting.statement for each in late]
        outcomes = self._taker.store(self._taker.drawings(statements), context, EDGES_ALONE)
        work = Work()
        for each, outcome in zip(late, outcomes, strict=True):
            _forget(work, each, outcome)
        self._keeping.change(work)


class _Late(Struct, frozen=True):
    """A waiting statement and its id."""

    id: str
    waiting: Waiting


def _forget(work: Work, late: _Late, outcome: Outcome) -> None:
    """Delete the rows of a statement for datasets that it no longer waits for."""
    if not outcome.missing:
        work.delete(WAITING, late.id)
    for name in _datasets(late.waiting):
        if name not in outcome.missing:
            work.delete(MISSING, missing_id(late.id, name))


def _datasets(waiting: Waiting) -> list[DatasetName]:
    """The datasets that a waiting statement is about."""
    outputs = waiting.lineage.outputs
    sources = [source for output in outputs for source in output.sources or ()]
    return [*waiting.mentioned, *(output.name for output in outputs), *sources]
