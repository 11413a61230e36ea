"""Verifying a log and its sorted read model, and moving the log through a file."""

import shutil
import time
from pathlib import Path

from benchmarks.figures import Figure, seconds
from benchmarks.workspace import ENTITIES, Workspace
from domain.event_store.opening import open_event_log
from domain.event_store.transfer import ExportReader, export
from projections.entities.sqlite.model import open_read_model
from projections.entities.verification_source import stored_entities
from projections.verification.report import Verdict
from projections.verification.run import Request, verify

SECONDS_A_MILLION = 30
"""Budget of verifying a million events."""
TRANSFER_BUDGET = 50_000


def measure(workspace: Workspace, large: bool) -> list[Figure]:
    """Seconds to verify, and events a second out of a log and into one."""
    count = 1_000_000 if large else 100_000
    figures = []
    for plain in (True, False):
        directory = workspace.contracts(count, plain=plain)
        what = f"{count:,} " + ("plain contracts" if plain else "contracts with schemas")
        figures += [_verification(directory, what), *_transfer(workspace, directory, what)]
    return figures


def _verification(directory: Path, what: str) -> Figure:
    log = open_event_log(directory / "events.db")
    model = open_read_model(directory / ENTITIES, writable=False)
    began = time.perf_counter()
    request = Request(now=time.time_ns() // 1_000_000)
    found = verify(log, {"entities": lambda: stored_entities(model, log)}, request)
    took = time.perf_counter() - began
    assert found.verdict is Verdict.EQUAL, found
    budget = SECONDS_A_MILLION * log.head() / 1e6
    figure = Figure(
        what=f"verify log and sorted model, {what}",
        measured=f"{took:.1f} s, {log.head() / took:,.0f} events/s",
        budget=f"<= {budget:.0f} s",
        met=took <= budget,
    )
    model.close()
    log.close()
    return figure


def _transfer(workspace: Workspace, directory: Path, what: str) -> list[Figure]:
    work = workspace.fresh()
    log = open_event_log(directory / "events.db")
    other = open_event_log(work / "events.db")
    file = work / "log.ndjson"

    def write() -> None:
        with log.snapshot() as snapshot, file.open("wb") as out:
            out.writelines(export(log, snapshot))

    def read() -> None:
        with file.open("rb") as lines:
            for _ in other.restore(ExportReader(lines, file.name).rows()):
                pass

    figures = [
        Figure(
            what=f"{name} of the log, {what}",
            measured=f"{rate:,.0f} events/s",
            budget=f">= {TRANSFER_BUDGET:,} events/s",
            met=rate >= TRANSFER_BUDGET,
        )
        for name, rate in (
            ("export", log.head() / seconds(write)),
            ("import", log.head() / seconds(read)),
        )
    ]
    assert other.head() == log.head()
    other.close()
    log.close()
    shutil.rmtree(work)
    return figures
