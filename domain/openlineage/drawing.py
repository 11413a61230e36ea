"""Draws what statements say: edges with columns, pipelines, texts and test cases."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from domain.edges import EDGE, edge_name
from domain.errors import CatalogError, StoreUnavailable
from domain.event_store.stored import Claim
from domain.events import Via
from domain.kinds.names import join, quote, split
from domain.kinds.registry import KINDS
from domain.openlineage.edge_changes import EdgeChange, EdgeNote, decode_note, encode_note
from domain.openlineage.edges import SaidEdge
from domain.openlineage.facets import Told
from domain.openlineage.keeping import EDGES, JOBS, Keeping
from domain.openlineage.kept_rows import Row, key_of
from domain.openlineage.outcomes import Outcome
from domain.openlineage.pipelines import PIPELINE, Pipelines
from domain.openlineage.places import Found, Places
from domain.openlineage.quality import test_case
from domain.openlineage.rights import Rights
from domain.openlineage.statements import DatasetName, DatasetTexts, Lineage, State, Statement
from domain.openlineage.texts import missing_texts
from domain.write_context import WriteContext
from domain.writing.edge_columns import column_names
from domain.writing.staged_plans import StagedPlans

_MOST_VIA = 256
"""Characters of the job and of the run that events record."""
_READ_TOGETHER = 32
"""Entities whose columns are read together, before any edge is drawn."""
_MOST_NAMES = 200_000
"""Names of columns that are remembered while edges are drawn."""


class Drawing(Struct, frozen=True):
    """A statement, with what the other events of its run have said."""

    statement: Statement
    lineage: Lineage
    """What is said of datasets by all events of the run."""
    draws: bool
    """True if the datasets are read and written for sure."""
    edges: Sequence[SaidEdge] = ()
    """The edges to be drawn: all that the lineage means, or a part of them."""
    alone: Sequence[DatasetName] = ()
    """The datasets that have no edge, which are named by the first part alone."""
    request_id: str = ""
    """The request that has brought it, where several are drawn together."""


class Drawer:
    """Draws statements on one state of the log, each on what the ones before it leave."""

    def __init__(
        self,
        plans: StagedPlans,
        places: Places,
        keeping: Keeping,
        context: WriteContext,
        rights: Rights,
    ) -> None:
        self._plans = plans
        self._places = places
        self._keeping = keeping
        self._context = context
        self._rights = rights
        self._pipelines = Pipelines(plans, places.rules)
        self._found: dict[DatasetName, Found] = {}
        self._notes: dict[str, EdgeNote] = {}
        self._times: dict[str, int] = {}
        self._columns: dict[str, frozenset[str]] = {}
        """Id -> the qualified names of columns, which nothing here changes."""

    def draw(self, drawings: Sequence[Drawing]) -> list[Outcome]:
        """Plan and stage what the statements say; returns the outcome of each."""
        self._find(drawings)
        self._read_notes(drawings)
        outcomes = [Outcome(each.statement) for each in drawings]
        for each, outcome in zip(drawings, outcomes, strict=True):
            self._draw(each, outcome)
        return outcomes

    def _find(self, drawings: Sequence[Drawing]) -> None:
        """Look up all datasets together."""
        names: dict[DatasetName, None] = {}
        links: dict[DatasetName, Sequence[DatasetName]] = {}
        for each in drawings:
            said = each.statement
            for edge in each.edges:
                names[edge.source] = names[edge.target] = None
            names.update(dict.fromkeys((*each.alone, *said.mentioned)))
            names.update(dict.fromkeys(text.name for text in said.texts))
            names.update(dict.fromkeys(test.dataset for test in said.assertions))
            names.update(dict.fromkeys(name for name, _ in said.written))
            links.update(each.lineage.symlinks)
        self._found = self._places.find(names, links, self._plans.log)

    def _read_notes(self, drawings: Sequence[Drawing]) -> None:
        """Look up together what is remembered of edges and jobs."""
        ids, mapped = [], dict[str, None]()
        for edge in (edge for each in drawings for edge in each.edges):
            ends = self._claim(edge.source), self._claim(edge.target)
            if ends[0] is not None and ends[1] is not None:
                ids.append(edge_name(ends[0].id, ends[1].id))
                if edge.mappings is not None:
                    mapped |= dict.fromkeys((ends[0].id, ends[1].id))
        self._columns = dict(
            self._plans.entities.newest_as(
                [*mapped][:_READ_TOGETHER], lambda state: (state.id, column_names(state))
            )
        )
        self._notes = {
            id_: decode_note(body) for id_, body in self._keeping.read(EDGES, ids).items()
        }
        jobs = {_job_key(each.statement) for each in drawings if each.draws and each.statement.job}
        self._times = {
            key: msgspec.msgpack.decode(body, type=int)
            for key, body in self._keeping.read(JOBS, jobs).items()
        }

    def _claim(self, name: DatasetName) -> Claim | None:
        return self._found[name].claim

    def _draw(self, drawing: Drawing, outcome: Outcome) -> None:
        said, edges = drawing.statement, drawing.edges
        self._context = replace(
            self._context,
            request_id=drawing.request_id or self._context.request_id,
            via=_via(said),
        )
        if said.state is not State.ABORT:
            self._make_missing(said)
        if said.root is not None and said.is_entity:
            if drawing.lineage.inputs or drawing.lineage.outputs:
                outcome.pipeline = self._pipelines.pipeline_of(said, self._context, outcome.told)
            else:
                outcome.pipeline = self._pipelines.known(said, self._context, outcome.told)
        key, older = "", False
        if drawing.draws and said.job is not None:
            key = _job_key(said)
            older = said.at < self._times.get(key, 0)
            if not older and edges:
                self._times[key] = said.at
                outcome.work.add(JOBS, Row(key, said.at, msgspec.msgpack.encode(said.at)))
        for edge in edges:
            self._edge(edge, drawing, outcome, key, older=older)
        if drawing.draws:
            for name in dict.fromkeys((*drawing.alone, *said.mentioned)):
                found = self._found[name]
                if found.claim is None and not found.ignored:
                    outcome.wait_alone(self._context.actor, name)
            for text in said.texts:
                self._texts(text, outcome)
        if said.state is not State.ABORT:
            self._quality(said, outcome)
        if outcome.pipeline is not None:
            outcome.concerned.add(outcome.pipeline.id)

    def _edge(
        self, edge: SaidEdge, drawing: Drawing, outcome: Outcome, job: str, *, older: bool
    ) -> None:
        found = self._found[edge.source], self._found[edge.target]
        if any(each.ignored for each in found):
            return
        ends = [each.claim for each in found]
        if ends[0] is None or ends[1] is None:
            names = (edge.source, edge.target)
            missing = [name for name, end in zip(names, ends, strict=True) if end is None]
            outcome.wait(self._context.actor, edge, missing)
            return
        beginning, end = ends[0], ends[1]
        if beginning.id == end.id:
            return
        unseen = self._rights.unseen((beginning.kind, end.kind, PIPELINE.name))
        mappings = None
        if "columnsLineage" not in unseen:
            mappings = self._mappings(edge, beginning, end, outcome.told)
        change = EdgeChange(
            drawing.statement.at,
            job,
            self._notes.get(edge_name(beginning.id, end.id)),
            None if "sqlQuery" in unseen else drawing.lineage.sql,
            mappings,
            outcome.pipeline if drawing.statement.names_pipeline else None,
            older=older,
        )
        try:
            plan = self._plans.lineage.add_to(beginning, end, change, self._context, unseen)
        except StoreUnavailable:
            raise
        except CatalogError as error:
            outcome.told.add(f"edge left out: {error.message}")
            return
        if plan is not None:
            self._plans.stage(plan)
        if change.is_left_out:
            return
        outcome.edges += 1
        outcome.concerned.update((beginning.id, end.id))
        id_ = edge_name(beginning.id, end.id)
        held = self._plans.log.claim(EDGE, id_)
        if held is not None:
            outcome.concerned.add(held.id)
        if change.note is not None:
            self._notes[id_] = change.note
            outcome.work.add(EDGES, Row(id_, drawing.statement.at, encode_note(change.note)))

    def _mappings(
        self, edge: SaidEdge, beginning: Claim, end: Claim, told: Told
    ) -> list[dict[str, Any]] | None:
        """The mappings of an edge by the qualified names of columns; None where nothing is said."""
        if edge.mappings is None:
            return None
        given, made = self._columns_of(beginning), self._columns_of(end)
        mappings = []
        for each in edge.mappings:
            to_column = _column(end, each.to_column, made)
            known = [(name, _column(beginning, name, given)) for name in each.from_columns]
            if to_column is None:
                told.add(f"{end.fqn!r} has no column {each.to_column[:80]!r}")
            for name, column in known:
                if column is None:
                    told.add(f"{beginning.fqn!r} has no column {name[:80]!r}")
            columns = [column for _, column in known if column is not None]
            if to_column is not None and columns:
                mapping: dict[str, Any] = {"fromColumns": columns, "toColumn": to_column}
                if each.function:
                    mapping["function"] = each.function[:1_000]
                mappings.append(mapping)
        return mappings or None

    def _columns_of(self, claim: Claim) -> frozenset[str]:
        """The qualified names of the columns of an entity."""
        names = self._columns.get(claim.id)
        if names is None:
            names = column_names(self._plans.entities.known(claim.id))
            if len(names) + sum(map(len, self._columns.values())) > _MOST_NAMES:
                self._columns.clear()
            self._columns[claim.id] = names
        return names

    def _texts(self, text: DatasetTexts, outcome: Outcome) -> None:
        claim = self._claim(text.name)
        if claim is None:
            return
        outcome.concerned.add(claim.id)
        operations = missing_texts(
            self._plans.entities.known(claim.id),
            text,
            self._plans.log,
            self._rights,
            outcome.told,
        )
        if not operations:
            return
        try:
            plan = self._plans.planner.patch(KINDS[claim.kind], claim.id, operations, self._context)
        except StoreUnavailable:
            raise
        except CatalogError as error:
            outcome.told.add(f"texts of {claim.fqn!r} left out: {error.message}")
        else:
            self._plans.stage(plan)

    def _quality(self, said: Statement, outcome: Outcome) -> None:
        for assertion in said.assertions:
            claim = self._claim(assertion.dataset)
            if claim is None or claim.kind != "table":
                continue
            if not self._rights.tests:
                outcome.told.add("assertions left out: they need the permission to make test cases")
                break
            case = test_case(self._plans, claim, assertion, self._context, outcome.told)
            if case is not None:
                outcome.tests.append((*case, assertion))
                outcome.concerned.add(case[0])
        for name, rows in said.written:
            claim = self._claim(name)
            if claim is not None and claim.kind == "table" and self._rights.measures:
                outcome.written.append((claim.id, rows))

    def _make_missing(self, said: Statement) -> None:
        """Make the tables that a rule says are to be made, of datasets with a `schema`."""
        for text in said.texts:
            found = self._found[text.name]
            if found.makes is None or not self._rights.makes_tables:
                continue
            above, name = _above(found.makes)
            columns = [
                {
                    "name": each.path[0],
                    "dataType": "UNKNOWN",
                    **({"dataTypeDisplay": each.type} if each.type else {}),
                    **({"description": each.description} if each.description else {}),
                }
                for each in text.fields
                if len(each.path) == 1
            ]
            if not columns:
                continue
            values = {"name": name, "databaseSchema": above, "columns": columns}
            try:
                plan = self._plans.planner.create(KINDS["table"], values, self._context)
            except StoreUnavailable:
                raise
            except CatalogError:
                continue  # it stays a dataset that is missing
            self._plans.stage(plan)
            self._found[text.name] = Found(self._plans.log.claim("table", found.makes))


def _via(said: Statement) -> Via:
    """The job and the run through which what a statement means is written."""
    job = None if said.job is None else f"{said.job.namespace}.{said.job.name}"[:_MOST_VIA]
    return Via(door="openlineage", what=job, run=said.run_id[:_MOST_VIA] or None)


def _job_key(said: Statement) -> str:
    """The id of a job, or of the task that it is: several jobs may tell of one task."""
    assert said.root is not None
    if said.task is None:
        return key_of(said.root.namespace, said.root.name)
    return key_of(said.root.namespace, said.root.name, said.task)


def _column(claim: Claim, name: str, columns: frozenset[str]) -> str | None:
    """The qualified name of a column; None for one that an entity does not have."""
    for below in (f"{claim.fqn}.{name}", f"{claim.fqn}.{quote(name)}"):
        if below in columns:
            return below
    return None


def _above(table: str) -> tuple[str, str]:
    """The qualified name of a table's schema, and the table's own name."""
    *above, name = split(table)
    return join(above), name
