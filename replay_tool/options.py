"""Options, exit codes, errors, progress and proofs that commands of `catalog-replay` share."""

import sys
import time
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from functools import wraps
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from domain.errors import CatalogError
from domain.event_store.opening import address_in, holds_log, open_event_log
from domain.event_store.port import EventStore
from domain.machine.disk import explained
from domain.machine.unread_output import end_unread
from projections.operation.proofs import Proof, keep_proof
from projections.wiring.stores import Stores, open_stores
from projections.wiring.url_options import database_option, search_option
from replay_tool.export_target import ReaderLeft

EXIT_DIFFERS, EXIT_FAILED = 1, 2


BY = "catalog-replay"
"""The caller in proofs of commands."""


class NamedPath(click.Path):
    """A path that is not empty: an empty one would be the working directory, which nobody named."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path; fails for an empty text."""
        if value == "":
            self.fail("must not be empty", param, ctx)
        return super().convert(value, param, ctx)


data = click.option(
    "--data",
    type=NamedPath(file_okay=False, path_type=Path),
    envvar="CATALOG_DATA",
    default="./catalog-data",
    show_default=True,
    help="Data directory (CATALOG_DATA).",
)


database, search = database_option(empty=None), search_option
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def print_errors(command: Callable[..., None]) -> Callable[..., None]:
    """Make a command print errors that an operator can mend as one line, with exit code 2.

    The line goes to standard error. A command whose output has lost its reader prints nothing.
    """

    @wraps(command)
    def run(*args: Any, **options: Any) -> None:
        try:
            command(*args, **options)
        except (ReaderLeft, BrokenPipeError):
            end_unread()
        except (CatalogError, OSError) as error:
            said = explained(error, options["data"]) if "data" in options else str(error)
            with suppress(OSError):  # of a full disk, say: the exit code tells that it failed
                click.echo(f"error: {said}", err=True)
            sys.exit(EXIT_FAILED)

    return run


class CatalogTarget(msgspec.Struct, frozen=True):
    """The catalog that the options of a command name."""

    data: Path
    database: str | None
    search: str | None

    def open_stores(self, *, writable: bool = False) -> "closing[Stores]":
        """The log and the read models, until the block ends."""
        return closing(
            open_stores(self.data, self.database, self.search, writable=writable, is_there=True)
        )

    def open_log(self) -> "closing[EventStore]":
        """The log, until the block ends."""
        return closing(open_event_log(address_in(self.data, self.database), is_there=True))


def on_catalog(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the `catalog` that its options name, which must have a log.

    A database is not looked into: the code that opens it expects a log there.
    """

    @wraps(command)
    def run(
        data: Path, database_url: str | None, search_url: str | None = None, **options: Any
    ) -> None:
        if not database_url and not holds_log(data):
            raise CatalogError(f"{data} holds no catalog: it has no log")
        command(CatalogTarget(data, database_url, search_url), **options)

    return data(database(print_errors(run)))


class _Output(Console):
    """Output that leaves a lost reader to `print_errors`; rich exits with `EXIT_DIFFERS`."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def console(**options: Any) -> Console:
    """Standard output; wide where it is no terminal, for scripts to find each row on one line."""
    return _Output(width=None if Console().is_terminal else 200, emoji=False, **options)


def cells(*values: Any) -> list[Text]:
    """The cells of a row of a table; what is None has an empty one."""
    return [Text("" if value is None else str(value)) for value in values]


def keep(directory: Path, proofs: Mapping[str, Proof]) -> None:
    """Put proofs in the place of the last ones; where that cannot be, say so and go on."""
    try:
        for name, proof in proofs.items():
            keep_proof(directory, name, proof)
    except OSError as error:
        click.echo(f"the page of operation will not show this proof: {error}", err=True)


_SECONDS_BETWEEN_LINES = 5.0


class Meter:
    """The progress of one command, as `report` is given it; use it in a `with` statement."""

    def __init__(self, what: str, unit: str = "events", *, as_json: bool = False) -> None:
        """`what` names the work, `unit` what is counted; `as_json` prints JSON lines."""
        self._what = what
        self._unit = unit
        self._as_json = as_json
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.speed:,.0f}/s"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            disable=as_json or not sys.stderr.isatty(),
        )
        self._task = self._progress.add_task(what, total=None)
        self._began = self._said = time.monotonic()

    def __enter__(self) -> "Meter":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def report(self, done: int, total: int) -> None:
        """Show that `done` of `total` units are done."""
        self._progress.update(self._task, completed=done, total=total)
        now = time.monotonic()
        if not self._progress.disable or now - self._said < _SECONDS_BETWEEN_LINES:
            return
        self._said = now
        rate = done / (now - self._began)
        left = (total - done) / rate if rate else None
        if self._as_json:
            line = {"progress": self._what, "done": done, "total": total, "unit": self._unit}
            click.echo(msgspec.json.encode({**line, "perSecond": rate, "secondsLeft": left}))
        else:
            ends = "" if left is None else f", {left:.0f} s left"
            click.echo(
                f"{self._what}: {done} of {total} {self._unit}, {rate:,.0f}/s{ends}", err=True
            )
