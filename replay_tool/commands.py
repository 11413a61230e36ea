"""The `catalog-replay` command: inspect the read models, bring them up to date, rebuild them."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.table import Table

from domain.errors import CatalogError
from projections.daemon import ProjectorLock
from projections.inspection import Inspection, inspect
from projections.stores import Stores, open_stores
from replay_tool.replay import Replay

EXIT_FAILED = 2

PROJECTIONS = ("entities", "search")

_data = click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    envvar="CATALOG_DATA",
    default="./catalog-data",
    show_default=True,
    help="Data directory.",
)
_json = click.option("--json", "as_json", is_flag=True, help="For machines.")


def told(command: Callable[..., None]) -> Callable[..., None]:
    """Errors that an operator can mend as one line on standard error and exit code 2."""

    @wraps(command)
    def run(*args: Any, **options: Any) -> None:
        try:
            command(*args, **options)
        except (CatalogError, OSError) as error:
            click.echo(f"error: {error}", err=True)
            sys.exit(EXIT_FAILED)

    return run


@click.group()
@click.version_option(package_name="metadata-catalog")
def main() -> None:
    """Operate the read models of a catalog from its log."""
    os.umask(0o077)


@main.command("inspect")
@_data
@_json
@told
def show(data: Path, as_json: bool) -> None:
    """Show the log, and how far each projection is."""
    with _opened(data, writable=False) as stores:
        inspection = inspect(stores)
    if as_json:
        click.echo(msgspec.json.encode(inspection))
    else:
        _print(inspection)


@main.command("catch-up")
@_data
@told
def catch_up(data: Path) -> None:
    """Apply what the log has beyond each projection's checkpoint."""
    with _locked(data) as stores:
        for projector in stores.projectors():
            click.echo(Replay(projector, stores.log).run())


@main.command()
@click.argument("projection", type=click.Choice([*PROJECTIONS, "all"]), default="all")
@_data
@told
def rebuild(projection: str, data: Path) -> None:
    """Throw a projection away and build it again from the log; no server may be running."""
    with _locked(data) as stores:
        for projector in stores.projectors():
            if projection in (projector.name, "all"):
                projector.reset()
                click.echo(Replay(projector, stores.log).run())
        if projection in ("search", "all"):
            stores.engine.compact()


@contextmanager
def _opened(directory: Path, *, writable: bool = True) -> Iterator[Stores]:
    """The stores of an existing data directory."""
    _check_catalog(directory)
    stores = open_stores(directory, writable=writable)
    try:
        yield stores
    finally:
        stores.close()


@contextmanager
def _locked(directory: Path) -> Iterator[Stores]:
    """The same, writable, while no other process projects."""
    _check_catalog(directory)
    with ProjectorLock(directory), _opened(directory) as stores:
        yield stores


def _check_catalog(directory: Path) -> None:
    if not (directory / "events.db").exists():
        raise CatalogError(f"{directory} holds no catalog: it has no events.db")


def _print(inspection: Inspection) -> None:
    console = Console()
    console.print(
        f"log: head {inspection.head}, {inspection.log_bytes / 1e6:.1f} MB;"
        f" projectors {'running' if inspection.projected else 'not running'}",
        highlight=False,
    )
    table = Table("projection", "state", "checkpoint", "lag", "lag (s)", "entities", "MB", "error")
    for report in inspection.projections:
        table.add_row(
            report.name,
            report.state,
            str(report.checkpoint),
            str(report.lag),
            f"{report.lag_seconds:.1f}",
            str(report.entities),
            f"{report.bytes / 1e6:.1f}",
            report.error or "",
        )
    console.print(table)


if __name__ == "__main__":
    main()
