"""Search: our engine beside tantivy and stock Whoosh, on the same documents and questions.

All give the exact total and ten ids, and engines take turns. What is held to the budgets is the
first time that a question is asked, so that nothing is answered from what is remembered. The files
of both indexes are read before, or the one built first would be asked from disk where the system
lets go of what was not used for a minute.
"""

import math
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

import msgspec

from api.processes.server import share_memory
from benchmarks import search_stock, search_tantivy
from benchmarks.figures import Figure, seconds
from benchmarks.generate import lines
from benchmarks.search_questions import Answer, Ask, Question, Sample, Shape
from benchmarks.search_stock import Stock
from benchmarks.search_tantivy import Tantivy
from benchmarks.workspace import EVENTS_PER_COMMIT, Workspace, load
from domain.aggregate.entity import evolve
from domain.event_store.port import EventStore
from projections.search.bulk_build import load as rebuild
from projections.search.documents.documents import SearchDocument, document
from projections.search.engine import EngineQuery, SearchEngine, Sort
from projections.search.index.engine import WhooshEngine
from projections.search.language import text
from projections.wiring.stores import open_log

MEAN, WORST, UNLESS_MS = 0.4, 2.5, 0.1
P95_MS = {100_000: 6.0, 1_000_000: 60.0}
BUILD = 0.5
_QUESTIONS, _STOCK_QUESTIONS = 40, 5
_OPENINGS = 5
_QUIET_SECONDS = 2.0
_SAMPLED, _STOCK_SIZE = 20_000, 10_000
_BLOCK = 1 << 20


class Timings(msgspec.Struct, frozen=True):
    """Milliseconds of each question of a shape, by engine."""

    parsed: list[float]
    """Ours, given the tree."""
    typed: list[float]
    """Ours, given the text."""
    tantivy: list[float]
    again: list[tuple[float, float]]
    """Ours and tantivy's when all questions are asked a second time."""
    differing: int
    """Questions whose totals differ."""

    @property
    def ratio(self) -> float:
        """Our median over tantivy's."""
        return statistics.median(self.parsed) / statistics.median(self.tantivy)

    @property
    def warm(self) -> tuple[float, float]:
        """Both medians of the second time."""
        ours, theirs = zip(*self.again, strict=True)
        return statistics.median(ours), statistics.median(theirs)

    @property
    def warm_ratio(self) -> float:
        """Our median of the second time over tantivy's."""
        return self.warm[0] / self.warm[1]


def measure(workspace: Workspace, large: bool) -> list[Figure]:
    """Build and query figures at 100,000 entities, and at a million, allocating as servers do."""
    share_memory()
    figures = figures_of(workspace, 100_000)
    return figures + (figures_of(workspace, 1_000_000) if large else [])


def figures_of(
    workspace: Workspace,
    count: int,
    questions: int = _QUESTIONS,
    quiet_seconds: float = _QUIET_SECONDS,
) -> list[Figure]:
    """All figures on a catalog of this size.

    An index is built once its files have not changed for `quiet_seconds`.
    """
    log = open_log(workspace.fresh())
    path, ours_path = workspace.fresh(), workspace.fresh()
    engine = WhooshEngine.open(ours_path)
    try:
        load(log, lines(count))
        start = time.perf_counter()
        rebuild(engine, log, lambda done, total: None)
        engine.compact()
        built = _settled(ours_path, quiet_seconds) - start
        folding = seconds(lambda: sum(1 for _ in documents(log)))
        start = time.perf_counter()
        tantivy = Tantivy(search_tantivy.build(path, documents(log)))
        held_against = time.perf_counter() - start
        build = Figure(
            what=f"search index of {count:,} entities from the log; reading it: {folding:.1f} s",
            measured=f"{count / built:,.0f} documents/s, {_told_size(ours_path)}",
            yardstick=f"{count / held_against:,.0f} documents/s, {_told_size(path)},"
            f" {tantivy.segments} segments",
            ratio=held_against / built,
            budget=f">= {BUILD}",
            met=held_against / built >= BUILD,
        )
        step = max(1, count // _SAMPLED)
        shapes = Sample(islice(documents(log), 0, None, step)).shapes(questions)
        small = workspace.fresh()
        start = time.perf_counter()
        few = min(count, _STOCK_SIZE)
        stock = Stock(search_stock.build(small, islice(documents(log), few)))
        stock_rate = few / (time.perf_counter() - start)
        for index in (ours_path, path):
            _read(index)
        opening = _opening_figure(count, ours_path, shapes[0].questions[0])
        timings = _compare(engine, tantivy, shapes)
        stock_ms = _stock(stock, shapes)
    finally:
        engine.close()
        log.close()
    return [
        build,
        Figure(
            what=f"the same, {few:,} entities in stock Whoosh",
            measured=f"{stock_rate:,.0f} documents/s",
        ),
        opening,
        *_shape_figures(count, shapes, timings, stock_ms),
        *_means(count, shapes, timings),
    ]


def documents(log: EventStore) -> Iterator[SearchDocument]:
    """The search documents of a log that holds creations only, as the projection makes them."""
    position = 0
    while batch := log.read(position, EVENTS_PER_COMMIT):
        for recorded in batch:
            yield document(evolve(None, recorded.event, recorded.entity_id))
        position = batch[-1].position


def engine_query(question: Question) -> EngineQuery:
    """The question as the engine is asked it."""
    return EngineQuery(
        tree=text.parsed(question.text).node,
        kinds=None if question.kind is None else frozenset({question.kind}),
        sort=Sort("name") if question.by_name else None,
        offset=question.offset,
    )


def answer(engine: SearchEngine, query: EngineQuery) -> Answer:
    """The exact total and the ids of the page."""
    found = engine.search(query)
    return found.total, [hit.id for hit in found.hits]


def _opening_figure(count: int, path: Path, asked: Question) -> Figure:
    """Measure the first answer of an index that another process has just opened."""

    def answer_first() -> None:
        reader = WhooshEngine.open(path, writable=False)
        try:
            answer(reader, engine_query(asked))
        finally:
            reader.close()

    def prove() -> None:
        reader = WhooshEngine.open(path, writable=False)
        try:
            reader.check(lambda: None)
        finally:
            reader.close()

    rounds = [(seconds(answer_first), seconds(prove)) for _ in range(_OPENINGS)]
    first, proven = (statistics.median(times) for times in zip(*rounds, strict=True))
    return Figure(
        what=f"search index of {count:,} entities: opened and asked for the first time",
        measured=f"{first * 1000:,.0f} ms",
        yardstick=f"{proven * 1000:,.0f} ms until all of it is summed, with nothing else to do",
        ratio=statistics.median(first / proven for first, proven in rounds),
    )


def _compare(engine: SearchEngine, tantivy: Tantivy, shapes: Sequence[Shape]) -> dict[str, Timings]:
    """Every question to both in turn, one of each shape after another, and all once again."""
    timings = {shape.name: Timings([], [], [], [], 0) for shape in shapes}
    for number in range(len(shapes[0].questions)):
        for shape in shapes:
            asked = shape.questions[number]
            timing = timings[shape.name]
            parsing = seconds(lambda asked=asked: engine_query(asked)) * 1000  # type: ignore[misc]
            ours, theirs, totals = _both(engine, tantivy, asked)
            timing.parsed.append(ours)
            timing.typed.append(ours + parsing)
            timing.tantivy.append(theirs)
            if len(totals) > 1:
                differing = timing.differing + 1
                timings[shape.name] = msgspec.structs.replace(timing, differing=differing)
    for number in range(len(shapes[0].questions)):
        for shape in shapes:
            ours, theirs, _ = _both(engine, tantivy, shape.questions[number])
            timings[shape.name].again.append((ours, theirs))
    return timings


def _both(engine: SearchEngine, tantivy: Tantivy, asked: Question) -> tuple[float, float, set[int]]:
    """Our milliseconds, tantivy's, and the totals."""
    query = engine_query(asked)
    started = time.perf_counter()
    ours = answer(engine, query)
    middle = time.perf_counter()
    theirs = tantivy.ask(asked)
    ended = time.perf_counter()
    return (middle - started) * 1000, (ended - middle) * 1000, {ours[0], theirs[0]}


def _stock(stock: Stock, shapes: Sequence[Shape]) -> dict[str, float]:
    """Median milliseconds of stock Whoosh."""
    return {
        shape.name: statistics.median(_ms(stock.ask, q) for q in shape.questions[:_STOCK_QUESTIONS])
        for shape in shapes
    }


def _ms(ask: Ask, question: Question) -> float:
    return seconds(lambda: ask(question)) * 1000


def _shape_figures(
    count: int,
    shapes: Sequence[Shape],
    timings: Mapping[str, Timings],
    stock: Mapping[str, float],
) -> Iterator[Figure]:
    for shape in shapes:
        timing = timings[shape.name]
        few = f"{min(count, _STOCK_SIZE) // 1000}k"
        totals = f"; {timing.differing} totals differ" if timing.differing else ""
        p50 = statistics.median(timing.parsed)
        again = timing.warm
        yield Figure(
            what=f"search {count:,}: {shape.name}",
            measured=f"{_told(timing.parsed)}"
            f" (from text p50 {statistics.median(timing.typed):.2f}, again {again[0]:.2f})",
            yardstick=f"{_told(timing.tantivy)} (again {again[1]:.2f});"
            f" stock {few} {stock[shape.name]:.1f}{totals}",
            ratio=timing.ratio,
            budget=f"<= {WORST} or < {UNLESS_MS} ms" if shape.counted else "-",
            met=(timing.ratio <= WORST or p50 < UNLESS_MS) if shape.counted else None,
        )


def _means(count: int, shapes: Sequence[Shape], timings: Mapping[str, Timings]) -> Iterator[Figure]:
    counted = [timings[shape.name] for shape in shapes if shape.counted]
    mean = statistics.geometric_mean(timing.ratio for timing in counted)
    yield Figure(
        what=f"search {count:,}: geometric mean of the shapes with a budget",
        measured="-",
        ratio=mean,
        budget=f"<= {MEAN}",
        met=mean <= MEAN,
    )
    warm = statistics.geometric_mean(timing.warm_ratio for timing in counted)
    yield Figure(
        what=f"search {count:,}: the same when all is asked again", measured="-", ratio=warm
    )
    slowest = max(_p95(timing.parsed) for timing in counted)
    budget = P95_MS.get(count)
    yield Figure(
        what=f"search {count:,}: p95 of the slowest of them",
        measured=f"{slowest:.1f} ms",
        yardstick=f"{max(_p95(timing.tantivy) for timing in counted):.1f} ms",
        budget="-" if budget is None else f"< {budget:g} ms",
        met=None if budget is None else slowest < budget,
    )


def _told(times: Sequence[float]) -> str:
    return f"p50 {statistics.median(times):.2f}, p95 {_p95(times):.2f} ms"


def _p95(times: Sequence[float]) -> float:
    return sorted(times)[math.ceil(0.95 * len(times)) - 1]


def _told_size(path: Path) -> str:
    sizes = [file.stat().st_size for file in path.rglob("*") if file.is_file()]
    return f"{sum(sizes) / 1e6:,.0f} MB in {len(sizes)} files"


def _read(path: Path) -> None:
    """Have the system keep the files of an index in memory, as it does for those just written."""
    for file in sorted(path.rglob("*")):
        if file.is_file():
            with file.open("rb") as stream:
                while stream.read(_BLOCK):
                    pass


def _settled(path: Path, quiet_seconds: float) -> float:
    """Time at which files last came or went in a directory, also by merges."""
    files, changed = sorted(path.iterdir()), time.perf_counter()
    while time.perf_counter() < changed + quiet_seconds:
        time.sleep(0.05)
        now = sorted(path.iterdir())
        if now != files:
            files, changed = now, time.perf_counter()
    return changed
