"""`python -m benchmarks.histories`: runs random histories with faults, and tells what is wrong."""

import logging
import random
import sys
import time
from contextlib import AbstractContextManager

import click

from benchmarks.histories.running import (
    POSTGRESQL,
    SQLITE,
    Run,
    how_to_replay,
    over_postgresql,
    over_sqlite,
)
from benchmarks.postgres_server import WHY_NONE, find_binaries

_DATABASES = (SQLITE, POSTGRESQL)
_SECONDS_BETWEEN_LINES = 10.0


@click.command()
@click.option("--database", type=click.Choice(_DATABASES), help="Only over this database.")
@click.option("--count", default=1_000, show_default=True, help="Histories over each database.")
@click.option("--seed", type=int, help="Seed of the first one; the next ones follow it.")
def main(database: str | None, count: int, seed: int | None) -> None:
    """Run histories of hosts with faults; a history that goes wrong is shown, with its seed."""
    # What hosts say of the faults is no news here.
    logging.getLogger("catalog").setLevel(logging.CRITICAL)
    first = random.SystemRandom().randrange(1_000_000_000) if seed is None else seed
    failed = 0
    for name in [database] if database else _DATABASES:
        failed += _run(name, range(first, first + count))
    sys.exit(1 if failed else 0)


def _run(database: str, seeds: range) -> int:
    """Run the histories of these seeds; tells how many went wrong."""
    failed, began, told = 0, time.monotonic(), time.monotonic()
    click.echo(f"{database}: histories of the seeds {seeds[0]} to {seeds[-1]}")
    with _over(database) as run:
        for done, seed in enumerate(seeds, 1):
            result = run(seed)
            if result.wrong:
                failed += 1
                click.echo(f"{result.told()}\n{how_to_replay(database, seed)}\n")
            if time.monotonic() - told > _SECONDS_BETWEEN_LINES:
                told = time.monotonic()
                click.echo(f"{database}: {done} of {len(seeds)}, {failed} went wrong", err=True)
    seconds = time.monotonic() - began
    click.echo(f"{database}: {len(seeds)} histories, {failed} went wrong, {seconds:.0f} s")
    return failed


def _over(database: str) -> AbstractContextManager[Run]:
    if database == SQLITE:
        return over_sqlite()
    binaries = find_binaries()
    if binaries is None:
        raise click.ClickException(WHY_NONE)
    return over_postgresql(binaries)


if __name__ == "__main__":
    main()
