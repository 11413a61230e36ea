"""Verifies a log and the read models built from it in one pass over the log.

The pass goes from entity to entity, not from position to position: each stream is folded, and
what comes of it is held against the claim, the row and the document of the same id, which are
read in the same order. So memory stays the same for any number of entities. Everything is read
from snapshots, and each model is compared with the states at its own checkpoint, so that writes
beside it change nothing.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from itertools import groupby, islice
from operator import itemgetter
from typing import Any, Protocol

import msgspec

from domain.errors import DamagedEvent, StoreUnavailable
from domain.event_store.checks import ClaimChecker, FutureEvents, Problems, StreamReader
from domain.event_store.port import EventStore
from domain.event_store.stored import LogSnapshot, Problem
from projections.feeding.port import Damaged
from projections.verification.report import (
    Comparison,
    Difference,
    Differences,
    LogProof,
    Model,
    ProjectionProof,
    Verdict,
    Verification,
    worst,
)

_PROGRESS_EVERY = 5_000
"""Events between two calls of a Progress."""

Progress = Callable[[int, int], None]
"""Called with the number of events that were read and of all events."""


class Source(Protocol):
    """A read model in one consistent state, as verification reads it."""

    def ids(self) -> Iterator[str]:
        """The ids of all entities that the read model holds, ascending."""

    def model(self, ids: Sequence[str] | None) -> Model[Any]:
        """A Model of these entities of the read model, of all for None."""

    def find_damage(self, differences: Differences) -> None:
        """Add the damage of the read model's files, and contradictions between their contents.

        The log is not read here. A thread calls this while another one reads the log.
        """


Subjects = Mapping[str, Callable[[], AbstractContextManager[Source]]]
"""Name of a read model -> what takes its snapshot, raising Damaged when it is not of this log, or
StoreUnavailable when it cannot be read."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """The parts to verify, and how much of the result to list."""

    log: bool = True
    """Verify the log against itself too: streams, claims, and the faults that its database can
    prove.
    """
    shown: int = 100
    """Most differences of each model, and most problems of the log, that are listed."""
    sample: int | None = None
    """Number of entities to compare; None for all."""
    seed: int = 0
    """Seed that the sample is drawn with."""
    now: int
    """Milliseconds since the Unix epoch."""


def verify(
    log: EventStore,
    subjects: Subjects,
    request: Request,
    progress: Progress = lambda done, total: None,
) -> Verification:
    """Compare everything in the request; raises StoreUnavailable without a readable log."""
    with ThreadPoolExecutor() as pool, ExitStack() as stack:
        run = _Run(log, request, pool)
        sources = run.open(subjects, stack)
        # Taken after the models are opened, so that it has every event that they have.
        snapshot = stack.enter_context(log.snapshot())
        ids = None if request.sample is None else run.draw(snapshot, sources.values())
        for name, source in sources.items():
            run.begin(name, source, ids)
        run.read(snapshot, ids, progress)
        return run.report(snapshot)


class _Run:
    """One verification in progress: its inputs, and the result so far."""

    def __init__(self, log: EventStore, request: Request, pool: ThreadPoolExecutor) -> None:
        self._request = request
        self._pool = pool
        self._whole = request.sample is None
        self._problems = Problems(request.shown)
        self._proofs: dict[str, ProjectionProof] = {}
        self._comparisons: dict[str, Comparison[Any]] = {}
        self._damage: dict[str, tuple[Differences, Future[None]]] = {}
        self._log_damage: Future[list[Problem]] | None = None
        self._events = 0
        self._future = FutureEvents()
        if request.log and self._whole:
            self._log_damage = pool.submit(log.damage)

    def open(self, subjects: Subjects, stack: ExitStack) -> dict[str, Source]:
        """Take the snapshots of the read models, as far as they can be taken."""
        sources: dict[str, Source] = {}
        for name, take in subjects.items():
            try:
                sources[name] = stack.enter_context(take())
            except StoreUnavailable as error:
                self._fail(name, error)
        return sources

    def draw(self, log: LogSnapshot, sources: Iterable[Source]) -> list[str]:
        """Ids of random entities, half of them of the log, half of each read model, ascending."""
        draw = random.Random(self._request.seed)
        half = ((self._request.sample or 0) + 1) // 2
        positions = [draw.randint(1, log.head) for _ in range(half if log.head else 0)]
        # The next event after a random place: positions may have gaps.
        drawn = {row[0] for at in positions for row in islice(log.events(at - 1), 1)}
        for source in sources:
            ids = list(source.ids())
            drawn.update(draw.sample(ids, min(half, len(ids))))
        return sorted(drawn)

    def begin(self, name: str, source: Source, ids: Sequence[str] | None) -> None:
        """Get ready to compare a read model."""
        try:
            differences = Differences(self._request.shown)
            self._comparisons[name] = Comparison(source.model(ids), differences)
        except StoreUnavailable as error:
            self._fail(name, error)
            return
        if self._whole:
            damage = Differences(self._request.shown)
            self._damage[name] = damage, self._pool.submit(source.find_damage, damage)

    def read(self, log: LogSnapshot, ids: Sequence[str] | None, progress: Progress) -> None:
        """Read the log, one entity after the other, and compare."""
        pins = [comparison.model.position for comparison in self._comparisons.values()]
        now = self._request.now
        models = [comparison.model for comparison in self._comparisons.values()]
        follow = [each.follow for each in models if self._whole and each.follow is not None]
        reader = StreamReader(self._problems, now=now, pins=pins, follow=follow)
        self._future = reader.future
        claims = ClaimChecker(log.claims(ids), self._problems) if self._request.log else None
        reported = 0
        try:
            for entity_id, rows in groupby(log.streams(ids), key=itemgetter(0)):
                stream = reader.read(rows)
                self._events += stream.events
                if claims is not None:
                    claims.meet(entity_id, stream)
                for name, comparison in tuple(self._comparisons.items()):
                    try:
                        comparison.meet(entity_id, stream)
                    except StoreUnavailable as error:
                        self._fail(name, error)
                if self._events - reported >= _PROGRESS_EVERY:
                    reported = self._events
                    progress(reported, log.count)
            if claims is not None:
                claims.finish()
        except StoreUnavailable as error:
            self._problems.add(0, "", error.message)
            for name in tuple(self._comparisons):
                self._fail(name, error)

    def report(self, log: LogSnapshot) -> Verification:
        """Finish every comparison and return the result."""
        for name in tuple(self._comparisons):
            try:
                self._finish(name)
            except StoreUnavailable as error:
                self._fail(name, error)
        for problem in self._log_damage.result() if self._log_damage is not None else ():
            self._problems.add(problem.position, problem.entity_id, problem.what)
        verdict = Verdict.DIFFERS if self._problems.count else Verdict.EQUAL
        about_log = LogProof(
            verdict,
            log.head,
            self._events,
            self._problems.lowest(),
            self._problems.count,
            self._future,
        )
        proofs = list(self._proofs.values())
        return Verification(
            verdict=worst([verdict, *(proof.verdict for proof in proofs)]),
            log=about_log,
            projections=proofs,
            seed=None if self._whole else self._request.seed,
        )

    def _finish(self, name: str) -> None:
        """Turn a comparison into a proof."""
        comparison = self._comparisons[name]
        model, differences = comparison.model, comparison.differences
        kinds = comparison.finish(sums=self._whole)
        if self._whole:
            damage, search = self._damage[name]
            search.result()
            differences.add_all(damage)
            self._compare_inside(model, differences)
        self._proofs[name] = ProjectionProof(
            name=name,
            verdict=Verdict.DIFFERS if differences.counts else Verdict.EQUAL,
            position=model.position,
            horizon=model.horizon,
            entities=comparison.compared,
            kinds=kinds,
            found=dict(differences.counts),
            differences=differences.shown,
        )

    def _compare_inside(self, model: Model[Any], differences: Differences) -> None:
        try:
            model.inner(differences)
        except Exception as error:  # whatever a damaged payload or an upcaster raises
            is_away = isinstance(error, StoreUnavailable) and not isinstance(error, DamagedEvent)
            if is_away or not self._problems.count:
                raise
            name = f"not compared with the log, which is damaged: {type(error).__name__}: {error}"
            differences.add(Difference("log", "", "", name))

    def _fail(self, name: str, error: StoreUnavailable) -> None:
        """End the comparison of a read model, which differs when damaged and is else unknown."""
        self._comparisons.pop(name, None)
        damaged = isinstance(error, Damaged)
        self._proofs[name] = ProjectionProof(
            name=name,
            verdict=Verdict.DIFFERS if damaged else Verdict.UNKNOWN,
            reason=error.message,
        )
