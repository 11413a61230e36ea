"""Takes statements: what is known of their runs, drawn of them, and remembered.

One after the other: runs are merged, edges and entities are planned and stored, then measurements
and what waits are written. A process that dies between two of these steps has answered nothing;
taking the same events again leads to the same result.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from msgspec.structs import replace

from domain.errors import EntityOverLimit
from domain.machine import clock
from domain.measurements.port import Measurements
from domain.measurements.reports import Point
from domain.openlineage.drawing import Drawer, Drawing
from domain.openlineage.edges import alone_in, edges_of, within_bounds
from domain.openlineage.facets import Told
from domain.openlineage.keeping import Keeping, Work
from domain.openlineage.outcomes import Outcome
from domain.openlineage.places import Places
from domain.openlineage.quality import result_points, written_points
from domain.openlineage.rights import Rights
from domain.openlineage.runs import KnownRun, known_runs, merge_runs, run_points, task_points
from domain.openlineage.statements import State, Statement
from domain.write_context import WriteContext
from domain.writing.catalog import Catalog, Proposal
from domain.writing.staged_plans import StagedPlans

MOST_EDGES = 500
"""Edges that one transaction draws."""
_ROUNDS = 3
"""Attempts to write the points of runs that another process changes meanwhile."""

ReadPlaces = Callable[[], Places]


class Taker:
    """Takes statements for callers; threads may share it."""

    def __init__(
        self, catalog: Catalog, measurements: Measurements, read_places: ReadPlaces
    ) -> None:
        """`read_places` gives the services of the catalog as they are."""
        self._catalog = catalog
        self._measurements = measurements
        self._read_places = read_places
        self.keeping = Keeping(measurements)

    def drawings(self, statements: Sequence[Statement]) -> list[Drawing]:
        """The statements with what is known of their runs, which they are merged into.

        A run that was completed draws what any of its events says, whichever comes last.
        """
        known = merge_runs(self.keeping, statements)
        return [_drawing(*each) for each in zip(statements, known, strict=True)]

    def propose(
        self, drawings: Sequence[Drawing], context: WriteContext, rights: Rights
    ) -> tuple[Proposal, list[Outcome]]:
        """Decide what is stored of some drawings, without storing anything."""
        places = self._read_places()

        def decide(plans: StagedPlans) -> list[Outcome]:
            return Drawer(plans, places, self.keeping, context, rights).draw(drawings)

        return self._catalog.propose_staged(decide)

    def settle(self, outcomes: Sequence[Outcome]) -> None:
        """Write measurements and what waits; to be called once what was proposed is stored."""
        work = Work()
        for outcome in outcomes:
            work.include(outcome.work)
        self.keeping.change(work)
        for outcome in outcomes:
            # An event of many parts would hold all that has been written until it is answered.
            outcome.work = Work()
        now = clock.now()
        oldest = self._measurements.oldest(now)
        statements = [each.statement for each in outcomes]
        known = known_runs(self.keeping, statements)
        for _ in range(_ROUNDS):
            points = _points(outcomes, known, oldest)
            if not points:
                return
            try:
                self._measurements.write_all(points, now)
            except EntityOverLimit as error:
                for outcome in outcomes:
                    outcome.told.add(f"measurements left out: {error.message}")
                return
            before, known = known, known_runs(self.keeping, statements)
            if known == before:
                return

    def store(
        self, drawings: Sequence[Drawing], context: WriteContext, rights: Rights
    ) -> list[Outcome]:
        """Draw, append and settle at once, for a caller that waits in a thread of its own."""
        _, outcomes = self._catalog.until_stored(partial(self.propose, drawings, context, rights))
        self.settle(outcomes)
        return outcomes

    def has_come(self, outcomes: Sequence[Outcome]) -> bool:
        """True if a dataset that was missing is there by now."""
        missing = [name for outcome in outcomes for name in outcome.missing]
        links = {
            name: others
            for outcome in outcomes
            for name, others in outcome.statement.lineage.symlinks
        }
        found = self._read_places().find(missing, links, self._catalog.store)
        return any(each.claim is not None for each in found.values())


def _drawing(said: Statement, known: KnownRun | None) -> Drawing:
    run = known.own if known is not None else None
    lineage, draws = said.lineage, said.draws
    if run is not None and run.state is State.COMPLETE and run.ended is not None:
        # The run says all of this once it is complete, whichever of its events came last.
        said, lineage, draws = replace(said, at=run.ended), run.lineage, True
    elif run is not None and said.state is State.COMPLETE:
        lineage = run.lineage
    told = Told()
    lineage = within_bounds(lineage, told)
    edges = edges_of(lineage, told) if draws else []
    said = replace(said, told=(*said.told, *told.sentences))
    return Drawing(said, lineage, draws, edges, alone_in(lineage, edges) if draws else ())


def parts(drawings: Sequence[Drawing]) -> Iterator[list[tuple[int, Drawing]]]:
    """The drawings by their numbers, in lists for a transaction each; a large one is cut up."""
    some: list[tuple[int, Drawing]] = []
    size = 0
    for number, drawing in enumerate(drawings):
        for start in range(0, len(drawing.edges) or 1, MOST_EDGES):
            said = drawing.statement if start == 0 else _bare(drawing.statement)
            cut = drawing.edges[start : start + MOST_EDGES]
            weight = len(cut) + len(said.texts) + len(said.assertions) + 1
            if some and size + weight > MOST_EDGES:
                yield some
                some, size = [], 0
            alone = drawing.alone if start == 0 else ()
            some.append((number, replace(drawing, statement=said, edges=cut, alone=alone)))
            size += weight
    if some:
        yield some


def _bare(said: Statement) -> Statement:
    """A statement without what was done with the first part of its edges."""
    return replace(said, texts=(), assertions=(), written=(), mentioned=(), told=())


def _points(
    outcomes: Sequence[Outcome], known: Sequence[KnownRun | None], oldest: int
) -> dict[str, list[Point]]:
    """Entity id -> the points of runs, results and rows written."""
    points: dict[str, list[Point]] = {}
    for outcome, run in zip(outcomes, known, strict=True):
        said = outcome.statement
        if run is None:
            continue
        if outcome.pipeline is not None:
            of_pipeline = points.setdefault(outcome.pipeline.id, [])
            if said.task is not None:
                of_pipeline += task_points(run.own, said.task, run.root.shown_at, oldest)
            of_pipeline += run_points(run.root, said.root_run_id, oldest)
        at = run.own.ended or said.at
        if at >= oldest:
            for case_id, fqn, assertion in outcome.tests:
                points.setdefault(case_id, []).extend(result_points(case_id, fqn, assertion, at))
            for table_id, rows in outcome.written:
                points.setdefault(table_id, []).extend(written_points(rows, at))
    return points
