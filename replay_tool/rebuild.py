"""`catalog-replay rebuild` and `rollback`: another generation becomes the live one."""

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import click
import msgspec

from domain.event_store.port import EventStore
from domain.machine import clock
from projections.generations.building import Differs, build
from projections.generations.current_generation import CurrentGeneration
from projections.generations.port import Generation
from projections.generations.switching import pending, propose_previous, switch
from projections.operation.proofs import proof_of, verify_live
from projections.verification.report import Verdict
from projections.verification.run import Request
from projections.wiring.local_read_models import Backend
from projections.wiring.stores import note_before_serving, open_backends, open_log
from replay_tool import options

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
@options.on_catalog
@options.search
def rebuild(catalog: options.CatalogTarget, projection: str, force: bool, as_json: bool) -> None:
    """Build a read model again beside the live one, verify it, and switch to it.

    The live one is verified first, and kept if it equals the log. A running server switches
    without a failed request. The former read model is kept for rollback. Exit code 0: done, or
    nothing to do; 1: the new one differs from the log; 2: failed, or a running server made no
    progress for 30 s.
    """
    with (
        _ending_if_one_differs(),
        closing(open_log(catalog.data, catalog.database, is_there=True)) as log,
    ):
        note_before_serving(catalog.data)
        for backend in _backends(catalog, log, projection):
            began = time.monotonic()
            if not force and _is_current(backend, log, catalog.data, as_json):
                _print(backend, log, as_json, "unchanged, nothing to do")
                continue
            generation = None if force else pending(backend.definition)
            if generation is None:
                generation = _build(backend, log, catalog.data, as_json)
            seconds = time.monotonic() - began
            by_server = _switch(backend, log, catalog.data, generation)
            _print(backend, log, as_json, "rebuilt", seconds, by_server)


@click.command(short_help="Go back to the read model before.")
@_which
@options.as_json
@options.on_catalog
@options.search
def rollback(catalog: options.CatalogTarget, projection: str, as_json: bool) -> None:
    """Make the generation before the live one live again, once it is verified and has caught up.

    Exit code 0: done; 1: that generation differs from the log, and the live one stays; 2: failed.
    """
    with (
        _ending_if_one_differs(),
        closing(open_log(catalog.data, catalog.database, is_there=True)) as log,
    ):
        for backend in _backends(catalog, log, projection):
            generation = propose_previous(backend.definition, log)
            by_server = _switch(backend, log, catalog.data, generation)
            _print(backend, log, as_json, "rolled back", by_server=by_server)


@contextmanager
def _ending_if_one_differs() -> Iterator[None]:
    """End the command where a generation differs from the log; says where first."""
    try:
        yield
    except Differs as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(options.EXIT_DIFFERS)


def _switch(backend: Backend[Any], log: EventStore, data: Path, generation: Generation) -> bool:
    """Switch to a generation; returns whether a running server reads it already."""
    return switch(backend.definition, log, generation, data, backend.leadership)


def _build(backend: Backend[Any], log: EventStore, data: Path, as_json: bool) -> Generation:
    """Build a generation beside the live one, and keep the proof of it; raises Differs."""
    began, name = time.monotonic(), backend.definition.name
    with options.Meter(name, "entities", as_json=as_json) as meter:
        built = build(backend.definition, log, meter.report)
    seconds = time.monotonic() - began
    options.keep(data, {name: proof_of(built.proof, seconds, options.BY, built.generation.number)})
    return built.generation


def _is_current(backend: Backend[Any], log: EventStore, data: Path, as_json: bool) -> bool:
    """True if the live generation equals the log, so that a rebuild would change nothing."""
    name = backend.definition.name
    request = Request(log=False, shown=0, now=clock.now())
    live = CurrentGeneration(backend.definition, log)
    with closing(live), options.Meter(f"verify {name}", as_json=as_json) as meter:
        _, proofs = verify_live(log, [live], request, meter.report, options.BY)
    options.keep(data, proofs)
    return proofs[name].verdict is Verdict.EQUAL


def _backends(
    catalog: options.CatalogTarget, log: EventStore, projection: str
) -> Iterator[Backend[Any]]:
    """The read models in the command's scope with their stores, which stay open until the last is
    taken.
    """
    with ExitStack() as stack:
        for backend in open_backends(catalog.data, log, catalog.database, catalog.search):
            stack.callback(backend.close)
            if projection in (backend.definition.name, "all"):
                yield backend


def _print(
    backend: Backend[Any],
    log: EventStore,
    as_json: bool,
    outcome: str,
    seconds: float = 0.0,
    by_server: bool = False,
) -> None:
    """Print what has become of a read model; `seconds` is how long its generation took."""
    live = CurrentGeneration(backend.definition, log)
    with closing(live), live.use() as model:
        result = RebuildOutcome(
            projection=backend.definition.name,
            outcome=outcome,
            generation=live.generation().number,
            entities=model.count(),
            checkpoint=model.checkpoint(),
            by_server=by_server,
            seconds=round(seconds, 3),
        )
    click.echo(msgspec.json.encode(result) if as_json else str(result))
