"""`catalog-replay rebuild` and `rollback`: another generation becomes the live one."""

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
import msgspec

from domain.event_store.port import EventStore
from projections.generations.building import Differs, build
from projections.generations.current_generation import CurrentGeneration
from projections.generations.definition import Definition
from projections.generations.port import Generation, Generations
from projections.generations.switching import pending, propose_previous, switch
from projections.operation.proofs import proof_of, verify_live
from projections.verification.report import Verdict
from projections.verification.run import Request
from projections.wiring.backends import Backend
from projections.wiring.stores import note_before_serving, open_backends, open_log
from replay_tool import options
from replay_tool.progress import Meter
from replay_tool.proofs import BY, keep

_which = click.argument(
    "projection", type=click.Choice(["entities", "search", "all"]), default="all"
)


class RebuildOutcome(msgspec.Struct, rename="camel"):
    """The result of a rebuild or a rollback of one projection."""

    projection: str
    outcome: str
    generation: int
    entities: int
    checkpoint: int
    by_server: bool
    """True if a running server reads the generation already."""
    seconds: float
    """Seconds to build and verify the generation, without the switch."""

    def __str__(self) -> str:
        rate = f" ({self.entities / self.seconds:,.0f} entities/s)" if self.seconds > 0 else ""
        by = "; the running server reads it" if self.by_server else ""
        return (
            f"{self.projection}: {self.outcome}, generation {self.generation},"
            f" {self.entities} entities, checkpoint {self.checkpoint},"
            f" {self.seconds:.1f} s{rate}{by}"
        )


@click.command(short_help="Build a read model again and switch to it.")
@_which
@click.option("--force", is_flag=True, help="Build without verifying the live one first.")
@options.as_json
@options.data
@options.database
@options.search
@options.print_errors
def rebuild(
    projection: str,
    force: bool,
    as_json: bool,
    data: Path,
    database: str | None,
    search: str | None,
) -> None:
    """Build a read model again beside the live one, verify it, and switch to it.

    The live one is verified first, and kept if it equals the log. A running server switches
    without a failed request. The former read model is kept for rollback. Exit code 0: done, or
    nothing to do; 1: the new one differs from the log; 2: failed, or a running server made no
    progress for 30 s.
    """
    options.check_catalog(data, database)
    log = open_log(data, database, is_there=True)
    try:
        note_before_serving(data)
        for backend in _backends(projection, data, log, database, search):
            definition, generations = backend.definition, backend.generations
            began = time.monotonic()
            if not force and _is_current(backend, log, data, as_json):
                outcome = _outcome(definition, generations, log, "unchanged, nothing to do", 0.0)
                _print(outcome, as_json)
                continue
            generation = None if force else pending(definition, generations)
            if generation is None:
                generation = _build(backend, log, data, as_json)
            seconds = time.monotonic() - began
            by_server = switch(definition, generations, log, generation, data, backend.leadership)
            _print(_outcome(definition, generations, log, "rebuilt", seconds, by_server), as_json)
    except Differs as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(options.EXIT_DIFFERS)
    finally:
        log.close()


@click.command(short_help="Go back to the read model before.")
@_which
@options.as_json
@options.data
@options.database
@options.search
@options.print_errors
def rollback(
    projection: str, as_json: bool, data: Path, database: str | None, search: str | None
) -> None:
    """Make the generation before the live one live again, once it has caught up."""
    options.check_catalog(data, database)
    log = open_log(data, database, is_there=True)
    try:
        for backend in _backends(projection, data, log, database, search):
            definition, generations = backend.definition, backend.generations
            generation = propose_previous(definition, generations)
            by_server = switch(definition, generations, log, generation, data, backend.leadership)
            _print(_outcome(definition, generations, log, "rolled back", 0.0, by_server), as_json)
    finally:
        log.close()


def _build(backend: Backend[Any], log: EventStore, data: Path, as_json: bool) -> Generation:
    """Build a generation beside the live one, and keep the proof of it; raises Differs."""
    began, name = time.monotonic(), backend.definition.name
    with Meter(name, "entities", as_json=as_json) as meter:
        built = build(backend.definition, backend.generations, log, meter.report)
    seconds = time.monotonic() - began
    keep(data, {name: proof_of(built.proof, built.generation.number, seconds, BY)})
    return built.generation


def _is_current(backend: Backend[Any], log: EventStore, data: Path, as_json: bool) -> bool:
    """True if the live generation equals the log, so that a rebuild would change nothing."""
    live = CurrentGeneration(backend.definition, backend.generations, log)
    request = Request(log=False, shown=0, now=time.time_ns() // 1_000_000)
    try:
        with Meter(f"verify {backend.definition.name}", as_json=as_json) as meter:
            _, proofs = verify_live(log, [live], request, meter.report, BY)
    finally:
        live.close()
    keep(data, proofs)
    return proofs[backend.definition.name].verdict is Verdict.EQUAL


def _backends(
    projection: str, data: Path, log: EventStore, database: str | None, search: str | None
) -> Iterator[Backend[Any]]:
    """The read models in the command's scope with their stores, which stay open until the last is
    taken.
    """
    with ExitStack() as stack:
        for backend in open_backends(data, log, database, search):
            stack.callback(backend.close)
            if projection in (backend.definition.name, "all"):
                yield backend


def _outcome(
    definition: Definition[Any],
    generations: Generations,
    log: Any,
    outcome: str,
    seconds: float,
    by_server: bool = False,
) -> RebuildOutcome:
    live = CurrentGeneration(definition, generations, log)
    try:
        with live.use() as model:
            return RebuildOutcome(
                projection=definition.name,
                outcome=outcome,
                generation=live.generation().number,
                entities=model.count(),
                checkpoint=model.checkpoint(),
                by_server=by_server,
                seconds=round(seconds, 3),
            )
    finally:
        live.close()


def _print(outcome: RebuildOutcome, as_json: bool) -> None:
    click.echo(msgspec.json.encode(outcome) if as_json else str(outcome))
