"""`catalog-replay verify`: proves that the read models, and the log itself, are as they must be."""

import secrets
import sys
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.table import Table

from domain.errors import cut
from domain.event_store.stored import Problem
from domain.event_store.transfer import compare
from domain.machine import clock
from domain.reading.utc_times import in_utc
from projections.feeding.shortened_past import remedy
from projections.operation.proofs import verify_live
from projections.verification.report import Difference, ProjectionProof, Verdict, Verification
from projections.verification.run import Request
from projections.wiring.stores import Stores
from replay_tool import options
from replay_tool.transfer import exported

_EXIT = {
    Verdict.EQUAL: 0,
    Verdict.DIFFERS: options.EXIT_DIFFERS,
    Verdict.UNKNOWN: options.EXIT_FAILED,
}
_SHOWN = 80
"""Most characters of a value on a terminal."""
_FIELDS = 10
"""Most fields of a difference on a terminal."""


@click.command(short_help="Compare the read models with the log.")
@click.argument("what", type=click.Choice(["entities", "search", "log", "all"]), default="all")
@click.option(
    "--sample", type=click.IntRange(min=1), metavar="N", help="Compare N random entities."
)
@click.option("--seed", type=int, help="Use the seed that an earlier --sample printed.")
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    metavar="N",
    default=100,
    show_default=True,
    help="List at most N differences of each read model; all are counted.",
)
@click.option(
    "--against",
    type=options.NamedPath(dir_okay=False, allow_dash=True),
    help="Also compare the log with an exported one: it must begin with all of it.",
)
@options.as_json
@options.on_catalog
@options.search
def verify(
    catalog: options.CatalogTarget,
    what: str,
    sample: int | None,
    seed: int | None,
    limit: int,
    against: str | None,
    as_json: bool,
) -> None:
    """Compare the read models with a replay of the log, and the log with itself.

    A server may run and write meanwhile. Exit code 0: equal; 1: differs; 2: could not compare.
    """
    if against is not None and what not in ("log", "all"):
        raise click.UsageError("--against compares the log: verify log, or all.")
    if seed is not None and sample is None:
        raise click.UsageError("--seed is for a --sample.")
    request = Request(
        log=what in ("log", "all"),
        shown=limit,
        sample=sample,
        seed=secrets.randbelow(2**31) if seed is None else seed,
        now=clock.now(),
    )
    with catalog.open_stores() as stores:
        with options.Meter("verify") as meter:
            live = stores.named(what)
            verification, proofs = verify_live(stores.log, live, request, meter.report, options.BY)
        options.keep(catalog.data, proofs)
        if against is not None:
            _compare(stores, against, verification)
    if as_json:
        click.echo(msgspec.json.encode(verification))
    else:
        _print(verification)
    sys.exit(_EXIT[verification.verdict])


def _compare(stores: Stores, file: str, verification: Verification) -> None:
    """Add to a verification where the log departs from the exported one in a file."""
    with stores.log.snapshot() as snapshot, exported(file) as reader:
        departs = compare(snapshot, reader)
    if departs is not None:
        verification.log.found += 1
        verification.log.problems.insert(0, Problem(0, "", f"{file}: {departs}"))
        verification.log.verdict = verification.verdict = Verdict.DIFFERS


def _print(verification: Verification) -> None:
    console = options.console(highlight=False)
    table = Table("what", "verdict", "position", "entities", "found")
    log = verification.log
    problems = _counted(log.found, "problem") if log.found else ""
    table.add_row("log", log.verdict, str(log.head), _counted(log.events, "event"), problems)
    for proof in verification.projections:
        counts = ", ".join(f"{n} {sort}" for sort, n in proof.found.items())
        about = (proof.name, proof.verdict, proof.position, proof.entities)
        table.add_row(*options.cells(*about, proof.reason or counts))
    console.print(table)
    for problem in log.problems:
        where = f" at position {problem.position}" if problem.position else ""
        whose = f" (entity {problem.entity_id})" if problem.entity_id else ""
        _say(console, f"log{where}: {problem.what}{whose}")
    if log.future.count:
        latest = in_utc(log.future.latest)
        dated = f"{_counted(log.future.count, 'event')} dated more than a day in the future"
        _say(
            console,
            f"clock: the log has {dated}, the first at position {log.future.position}, the latest"
            f" of {latest:%Y-%m-%d %H:%M} UTC. The clock of the host that wrote was wrong, or that"
            " of this host is; no event is damaged",
        )
    for proof in verification.projections:
        if proof.horizon.position:
            _say(console, _shortened(proof))
        for difference in proof.differences:
            _print_difference(console, proof.name, difference)
        more = sum(proof.found.values()) - len(proof.differences)
        if more > 0:
            _say(console, f"{proof.name}: {_counted(more, 'more difference')} not listed")
    if verification.seed is not None:
        _say(console, f"a sample only; --seed {verification.seed} draws it again")
    _say(console, f"{verification.verdict} ({verification.seconds:.1f} s)")


def _shortened(proof: ProjectionProof) -> str:
    """The part of the past that a read model keeps, where that is not all of it."""
    return (
        f"{proof.name}: the past is kept from position {proof.horizon.position} on, which is of"
        f" {in_utc(proof.horizon.at):%Y-%m-%d %H:%M} UTC. If CATALOG_HISTORY_DAYS was raised since,"
        f" {remedy(proof.name)} brings back the rest"
    )


def _print_difference(console: Console, name: str, difference: Difference) -> None:
    about = " ".join(filter(None, (difference.kind, difference.name, difference.id)))
    _say(console, f"{name}: {difference.sort}: {about}")
    expected, actual = difference.sides
    for pair in difference.fields[:_FIELDS]:
        values = f"{expected} {_cut(pair.expected)}, {actual} {_cut(pair.actual)}"
        _say(console, f"    {pair.name}: {values}")
    if len(difference.fields) > _FIELDS:
        _say(console, f"    and {_counted(len(difference.fields) - _FIELDS, 'more field')}")


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _say(console: Console, line: str) -> None:
    console.print(line.rstrip(), markup=False, soft_wrap=True)


def _cut(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return cut(text, _SHOWN)
