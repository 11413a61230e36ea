"""The verdicts on many contracts: how long the judge takes, and that a rebuild brings them back."""

import statistics
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from typing import Any

from benchmarks.figures import Figure, seconds
from benchmarks.waiting_loops import wait_figure
from benchmarks.workspace import Workspace
from domain.event_store.entity_reads import RecordedEvent
from domain.event_store.opening import open_event_log
from domain.event_store.port import EventStore
from domain.events import EntityCreated, encode
from domain.judging.judge import Judge
from domain.kinds.ids import new_id
from domain.kinds.registry import KINDS
from domain.measurements.bounds import Bounds
from domain.measurements.opening import measurements_at
from projections.entities.list_pages import list_page
from projections.entities.list_port import ListRequest
from projections.generations.building import build
from projections.wiring.local_read_models import entities_definition

CONTRACTS, SMALL = 100_000, 5_000
_BATCH = 2_000
_SHARE = 2_500
"""Contracts for each step beside which the event loop waits."""
_COLUMNS = [{"name": f"c{n}", "dataType": "BIGINT"} for n in range(10)]


def measure(workspace: Workspace, large: bool) -> list[Figure]:
    """The judge over a log of contracts that nobody has judged, and the lists made of it."""
    return figures_of(workspace, CONTRACTS if large else SMALL)


def figures_of(workspace: Workspace, count: int) -> list[Figure]:
    """The figures for so many contracts."""
    directory = workspace.fresh()
    bounds = Bounds(days=30, most_bytes=1_000_000)
    with (
        closing(open_event_log(directory / "events.db")) as log,
        closing(measurements_at(directory, None, bounds)) as measurements,
    ):
        stored = seconds(partial(_store, log, count))
        judge = Judge(log, measurements)
        first = wait_figure(
            lambda: [judge.step() for _ in range(max(1, count // _SHARE))], 1.0, 1, "the judge"
        )
        before = log.head()
        began = time.perf_counter()
        while judge.step():
            pass
        taken = time.perf_counter() - began
        judged = log.head() - before
        definition = entities_definition(directory)
        generation = build(definition, log, lambda done, total: None).generation
        model = definition.open(definition.generations.address(generation.number), False)
        with closing(model):
            request = ListRequest(
                kind=KINDS["dataContract"], limit=0, filters={"verdict": "Success"}
            )
            total = b"".join(list_page(model, request))
            assert b'"total":%d' % count in total, total
            listed = statistics.median(
                seconds(lambda: b"".join(list_page(model, request))) for _ in range(9)
            )
    rate, bare = judged / taken, 2 * count / stored
    return [
        Figure(
            what=f"verdicts on {judged:,} of {count:,} contracts",
            measured=f"{rate:,.0f} a second",
            yardstick=f"{bare:,.0f} a second (events stored, {_BATCH:,} in a commit)",
            ratio=rate / bare,
        ),
        Figure(
            what=f"number of contracts with a verdict, after a rebuild, of {count:,}",
            measured=f"{listed * 1_000:.2f} ms",
        ),
        first,
    ]


def _store(log: EventStore, count: int) -> None:
    """Store tables with a contract each."""
    batch: list[RecordedEvent] = []
    for event in _created(count):
        batch.append(event)
        if len(batch) >= _BATCH:
            log.append(batch)
            batch = []
    log.append(batch)


def _created(count: int) -> Iterator[RecordedEvent]:
    """The events of tables, and of the contracts about them."""
    columns = encode(_COLUMNS)
    for number in range(count):
        table, contract, name = new_id(), new_id(), f"t{number}"
        about = encode({"id": table, "type": "table", "name": name, "fullyQualifiedName": name})
        held = {"entity": about, "schema": columns, "entityStatus": encode("Active")}
        yield _creation(table, "table", name, None, {"columns": columns})
        yield _creation(contract, "dataContract", f"{name}.c", table, held)


def _creation(
    entity_id: str, kind: str, fqn: str, parent_id: str | None, body: dict[str, Any]
) -> RecordedEvent:
    event = EntityCreated(
        kind=kind,
        actor="me",
        at=1_700_000_000_000,
        version=1,
        request_id="r",
        name=fqn,
        fqn=fqn,
        parent_id=parent_id,
        body=body,
    )
    return RecordedEvent(entity_id, 1, event)
