"""Searches as of a position beside those of an index that was made then, and what the past costs a
commit.

Half of the entities change after the position. Each question is asked for the first time, of both
in turn; hits, scores and totals of both are held against each other.
"""

import statistics
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import msgspec

from benchmarks.figures import Figure, seconds
from benchmarks.generate import lines
from benchmarks.search import documents, engine_query
from benchmarks.search_questions import Sample
from benchmarks.workspace import EVENTS_PER_COMMIT, Workspace, load
from domain.event_store.entity_reads import RecordedEvent
from domain.event_store.port import EventStore
from domain.events import EntityChanged, encode
from projections.feeding.projector import Projector
from projections.search.bulk_build import load as rebuild
from projections.search.engine import DocumentChanges, EngineQuery, SearchEngine
from projections.search.index.engine import WhooshEngine
from projections.search.projection import SearchProjection
from projections.wiring.stores import open_log

MEAN = 2.5
"""Budget: the mean over all shapes of what a search as of a position takes, beside one of then."""
_QUESTIONS = 20
_BATCHES = (1, 1_000)
_COMMITS = 30
"""Commits of one event; of larger batches those that the events come to."""


class WithoutPast(WhooshEngine):
    """An engine that keeps no replaced states."""

    def apply(self, changes: DocumentChanges) -> None:
        super().apply(msgspec.structs.replace(changes, replaced=()))


def measure(workspace: Workspace, large: bool) -> list[Figure]:
    """Searches of 20,000 entities as they were, and of 100,000."""
    figures = figures_of(workspace, 20_000)
    return figures + (figures_of(workspace, 100_000) if large else [])


def figures_of(
    workspace: Workspace,
    count: int,
    questions: int = _QUESTIONS,
    batches: Sequence[int] = _BATCHES,
) -> list[Figure]:
    """All figures on a catalog of this size."""
    log = open_log(workspace.fresh())
    engines = [WhooshEngine.open(workspace.fresh()) for _ in range(2)]
    then, now = engines
    try:
        load(log, lines(count))
        position = log.head()
        sample = Sample(documents(log))
        rebuild(then, log, lambda done, total: None)
        change(log, count // 2)
        rebuild(now, log, lambda done, total: None)
        for engine in engines:
            engine.compact()
        return [
            *_searches(count, then, now, position, sample, questions),
            *(_commits(workspace, count, log, position, size) for size in batches),
        ]
    finally:
        for engine in engines:
            engine.close()
        log.close()


def change(log: EventStore, count: int) -> None:
    """Change the first entities of a log of creations, each once."""
    reached = 0
    while reached < count:
        created = log.read(reached, min(EVENTS_PER_COMMIT, count - reached))
        log.append([*_changes(created)])
        reached = created[-1].position


def _changes(created_events: Sequence[RecordedEvent]) -> Iterator[RecordedEvent]:
    random = Random(created_events[0].position)
    words = ("orders", "customers", "daily", "archive", "of", "the", "region")
    for recorded in created_events:
        text = " ".join(random.choices(words, k=6))
        patch: list[dict[str, Any]] = [
            {"op": "add", "path": "/description", "value": encode(text)},
            {"op": "add", "path": "/displayName", "value": encode(text.title())},
        ]
        created = recorded.event
        yield RecordedEvent(
            recorded.entity_id,
            2,
            EntityChanged(
                kind=created.kind,
                actor="benchmark",
                at=created.at,
                version=created.version + 1,
                request_id="benchmark",
                patch=patch,
            ),
        )


def _searches(
    count: int,
    then: SearchEngine,
    now: SearchEngine,
    position: int,
    sample: Sample,
    questions: int,
) -> Iterator[Figure]:
    ratios: list[float] = []
    for shape in sample.shapes(questions):
        past, made = [], []
        for question in shape.questions:
            query = engine_query(question)
            as_of = msgspec.structs.replace(query, at=position)
            past.append(_milliseconds(now, as_of))
            made.append(_milliseconds(then, query))
            assert now.search(as_of) == then.search(query), question
        medians = [statistics.median(times) for times in (past, made)]
        ratios.append(medians[0] / medians[1])
        yield Figure(
            what=f"search {count:,} as of a position: {shape.name}",
            measured=f"p50 {medians[0]:.2f} ms",
            yardstick=f"p50 {medians[1]:.2f} ms of an index made then",
            ratio=ratios[-1],
        )
    mean = statistics.geometric_mean(ratios)
    yield Figure(
        what=f"search {count:,} as of a position: geometric mean of the shapes",
        measured="-",
        ratio=mean,
        budget=f"<= {MEAN}",
        met=mean <= MEAN,
    )


def _commits(workspace: Workspace, count: int, log: EventStore, position: int, size: int) -> Figure:
    """Commits of changes, with the states that they replace and without."""
    commits = min(_COMMITS, (count // 2) // size)
    rounds: list[list[float]] = []
    engines = [kind.open(workspace.fresh()) for kind in (WhooshEngine, WithoutPast)]
    try:
        projectors = []
        for engine in engines:
            _feed(engine, log, position)
            projectors.append(Projector(SearchProjection(engine), log, batch_size=size))
        for _ in range(commits):
            rounds.append([seconds(each.step) * 1000 / size for each in projectors])
    finally:
        for engine in engines:
            engine.close()
    kept, without = map(statistics.median, zip(*rounds, strict=True))
    return Figure(
        what=f"changes in commits of {size:,}, each",
        measured=f"{kept:.2f} ms",
        yardstick=f"{without:.2f} ms without replaced states",
        ratio=statistics.median(one / other for one, other in rounds),
    )


def _feed(engine: SearchEngine, log: EventStore, upto: int) -> None:
    """Feed an engine up to a position, and not beyond."""
    while left := upto - engine.checkpoint():
        size = min(EVENTS_PER_COMMIT, left)
        Projector(SearchProjection(engine), log, batch_size=size).step()


def _milliseconds(engine: SearchEngine, query: EngineQuery) -> float:
    return seconds(lambda: engine.search(query)) * 1000
