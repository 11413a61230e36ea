"""The past that a read model keeps, held against a replay of the log."""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from domain.edges import EDGE
from domain.event_store.port import MAX_INTEGER, EventStore
from domain.event_store.stored import LiveStreams
from projections.entities.folding_process import fold_streams
from projections.entities.loaded_past import LoadedPast
from projections.entities.port import EntitySnapshot
from projections.entities.replaced_states import ANY_STATUS, ReplacedState, Series
from projections.entities.stored_entity import actual_digest, add_digests, columns_digest
from projections.verification.report import Difference, FieldPair

_STREAMS = 1_000
"""Entities that are folded together."""
_POSITIONS = 16
"""Positions at which totals are counted: the horizon, and random ones."""

SIDES = ("entities", "lists")
"""Sides of differences within the read model: the value by its rows, the value stored."""

_COUNTED = f"""
SELECT kind, deleted, status, {{counts}} FROM (
    SELECT kind, deleted, status, position AS since, {MAX_INTEGER} AS until FROM {{}}.entities
    UNION ALL SELECT kind, deleted, status, since, until FROM {{}}.history) were
WHERE kind <> '{EDGE}' GROUP BY kind, deleted, status
"""
"""Gives the totals at some positions, counted in one scan; NULL stands for no status."""
_COUNT_AT = "count(*) FILTER (WHERE since <= {0} AND until > {0})"
_KEPT = """
WITH asked (position) AS (VALUES {positions}),
series AS MATERIALIZED (SELECT DISTINCT kind, deleted, status FROM {}.kind_totals)
SELECT asked.position, s.kind, s.deleted, s.status,
    CAST(coalesce((SELECT t.n FROM {}.kind_totals t
        WHERE (t.kind, t.deleted, t.status) = (s.kind, s.deleted, s.status)
        AND t.position <= asked.position ORDER BY t.position DESC LIMIT 1), 0)
    - coalesce((SELECT sum(t.n) FROM {}.forgotten t
        WHERE (t.kind, t.deleted, t.status) = (s.kind, s.deleted, s.status)
        AND t.position <= asked.position), 0) AS int8)
FROM asked CROSS JOIN series s
"""
"""Gives the totals at some positions, as they are kept."""

Sums = dict[str, tuple[int, int]]
"""Kind -> number of its rows, and the sum of their digests modulo 2**128."""


def past_differences(log: EventStore, snapshot: EntitySnapshot) -> Iterator[Difference]:
    """Yield what differs in the past of a read model, state by state, and in its totals.

    States and memberships that ended up to the horizon of the read model must be gone. Memberships
    of lists that differ are told by the sums of their kind. Totals are counted at random positions
    from the horizon on, which are others once the read model is at another one.
    """
    horizon = snapshot.horizon.position
    replay = _Replay(log, snapshot.position, horizon)
    sums: Sums = {}
    for due, held in _paired(replay.replaced(), snapshot.replaced()):
        if held is not None:
            add_digests(sums, [(held.kind, 1, actual_digest(held))])
        if due is None or held is None or not due.digest == held.digest == actual_digest(held):
            yield _wrong_state(due, held)
    ended: Sums = {}
    for row in snapshot.ended():
        membership = row[1], 1, columns_digest(row)
        add_digests(sums, [membership])
        add_digests(ended, [membership])
    yield from _wrong_sums("memberships that ended", replay.ended, ended)
    yield from _wrong_sums("kept number and digest", sums, dict(snapshot.pasts()))
    draw = random.Random(snapshot.position)
    drawn = {draw.randint(horizon, snapshot.position) for _ in range(_POSITIONS - 1)}
    positions = sorted({horizon, *drawn})
    for position, (counted, kept) in zip(positions, snapshot.totals_at(positions), strict=True):
        for kind, deleted, status in sorted(counted.keys() | kept.keys()):
            series = kind, deleted, status
            n, held_n = counted.get(series, 0), kept.get(series, 0)
            if n != held_n:
                state = "soft-deleted" if deleted else "live"
                name = ", ".join(filter(None, (f"total at {position}", state, status)))
                yield Difference("past", kind, "", name, [FieldPair("n", n, held_n)], SIDES)


class _Replay:
    """The past that the log says there must be at a position."""

    def __init__(self, log: EventStore, position: int, horizon: int) -> None:
        """States and memberships that ended at the position `horizon` or before are left out."""
        self._log = log
        self._position = position
        self._horizon = horizon
        self.ended: Sums = {}
        """The sums of the memberships that have ended, once all of `replaced` is taken."""

    def replaced(self) -> Iterator[ReplacedState]:
        """The replaced states, in order of ids and of their ends."""
        with self._log.snapshot() as snapshot:
            streams = LiveStreams(self._position, snapshot.changed())
            past = LoadedPast(LiveStreams(self._position, b"", snapshot.purged(self._position)))
        for start in range(0, len(streams), _STREAMS):
            some = streams.part(start, _STREAMS)
            for part in fold_streams(self._log, some, self._position):
                replaced, ended = past.kept(part)
                for row in ended:
                    if row[5] > self._horizon:
                        add_digests(self.ended, [(row[1], 1, columns_digest(row))])
                yield from (state for state in replaced if state.until > self._horizon)


def _paired(
    due: Iterable[ReplacedState], held: Iterable[ReplacedState]
) -> Iterator[tuple[ReplacedState | None, ReplacedState | None]]:
    """The states of both by id and end, None in place of one that is not there."""
    one, other = iter(due), iter(held)
    a, b = next(one, None), next(other, None)
    while a is not None or b is not None:
        here = min(_key(each) for each in (a, b) if each is not None)
        pair = (
            a if a is not None and _key(a) == here else None,
            b if b is not None and _key(b) == here else None,
        )
        yield pair
        if pair[0] is not None:
            a = next(one, None)
        if pair[1] is not None:
            b = next(other, None)


def _key(row: ReplacedState) -> tuple[str, int]:
    return row.id, row.until


def _wrong_sums(what: str, due: Sums, held: Sums) -> Iterator[Difference]:
    for kind in sorted(due.keys() | held.keys()):
        n, total = due.get(kind, (0, 0))
        held_n, held_total = held.get(kind, (0, 0))
        if n != held_n:
            yield Difference("past", kind, "", what, [FieldPair("n", n, held_n)])
        elif total != held_total:
            digests = f"{total:032x}", f"{held_total:032x}"
            yield Difference("past", kind, "", what, [FieldPair("digest", *digests)])


def _wrong_state(due: ReplacedState | None, held: ReplacedState | None) -> Difference:
    """A replaced state that is missing, too much, or not as the log has it."""
    one = due or held
    assert one is not None
    sides = [None if each is None else f"{each.since} to {each.until}" for each in (due, held)]
    fields = [FieldPair("positions", *sides)]
    if due is not None and held is not None:
        fields = [
            FieldPair(name, *(_shown(getattr(each, name)) for each in (due, held)))
            for name in ReplacedState.__struct_fields__
            if getattr(due, name) != getattr(held, name)
        ]
    return Difference("past", one.kind, one.id, one.fqn, fields)


def _shown(value: Any) -> Any:
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def totals_at(
    ask: Callable[[str], Iterable[tuple[Any, ...]]], positions: Sequence[int]
) -> list[tuple[dict[Series, int], dict[Series, int]]]:
    """The totals of all kinds at positions, counted and as they are kept.

    `ask` gives the rows of a statement, in which `{}.` stands before tables.
    """
    counts = ", ".join(map(_COUNT_AT.format, positions))
    counted: list[Counter[Series]] = [Counter() for _ in positions]
    for kind, deleted, status, *numbers in ask(_COUNTED.replace("{counts}", counts)):
        for totals, n in zip(counted, numbers, strict=True):
            for each in {ANY_STATUS, status or ANY_STATUS}:
                totals[kind, deleted, each] += n
    kept: dict[int, dict[Series, int]] = {position: {} for position in positions}
    asked = ", ".join(f"({position})" for position in positions)
    for position, *series, n in ask(_KEPT.replace("{positions}", asked)):
        kept[position][tuple(series)] = n
    return [(dict(totals), kept[at]) for totals, at in zip(counted, positions, strict=True)]
