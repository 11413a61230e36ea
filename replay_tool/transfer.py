"""`catalog-replay export`, `import` and `restore`: the log as a file, to keep and to move."""

import gzip
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import click

from domain.errors import InvalidInput
from domain.event_store.opening import address_in, open_event_log, restore_copy
from domain.event_store.transfer import ExportReader, export
from projections.feeding.daemon import ProjectorLock
from projections.wiring.stores import make_directory
from replay_tool import options
from replay_tool.export_target import STANDARD, open_target
from replay_tool.import_target import open_import
from replay_tool.progress import Meter

_REPORTED_EVERY = 5_000
"""Events between two reports of progress."""

_file = click.argument("file", type=options.NamedPath(dir_okay=False, allow_dash=True))


@click.command("export", short_help="Write the log to a file.")
@_file
@click.option("--overwrite", is_flag=True, help="Replace FILE if it exists.")
@options.data
@options.database
@options.print_errors
def export_log(file: str, overwrite: bool, data: Path, database: str | None) -> None:
    """Write the log to FILE as JSON lines, compressed when it is named .gz; - is standard output.

    Takes the log as it is when the command begins; a server may run. A regular file appears when
    the export is whole; a FIFO or a device is written into. The last line proves to `import`
    and to `verify log --against` that the file is whole.
    """
    options.check_catalog(data, database)
    _check_target(file, data, overwrite=overwrite)
    began = time.monotonic()
    log = open_event_log(address_in(data, database), is_there=True)
    try:
        with log.snapshot() as snapshot, Meter("export") as meter, open_target(file) as out:
            for number, line in enumerate(export(log, snapshot)):
                out.write(line)
                if number % _REPORTED_EVERY == 0:
                    meter.report(number, snapshot.count)
            count, head = snapshot.count, snapshot.head
    finally:
        log.close()
    click.echo(_summary("exported", count, head, began), err=True)


@click.command("import", short_help="Make a catalog of an exported log.")
@_file
@options.data
@options.database
@options.print_errors
def import_log(file: str, data: Path, database: str | None) -> None:
    """Make a catalog of the log in FILE (- is standard input), in a directory that holds none.

    All of the log or nothing: a file that was cut off or changed is refused, and leaves nothing
    behind. The next start of a server, or `catch-up`, builds the read models. Idempotency keys are
    not imported. The tables of a named database must hold no event.
    """
    began = time.monotonic()
    # A file that does not even begin like an export is refused before anything is made.
    with _lines(file) as lines:
        reader = ExportReader(lines, file)
        with open_import(data, database) as log, Meter("import") as meter:
            for position in log.restore(reader.rows()):
                meter.report(position, reader.header.head)
    assert reader.trailer is not None  # `restore` has read to the end
    count, head = reader.trailer.count, reader.trailer.head
    click.echo(_summary("imported", count, head, began), err=True)


@click.command("restore", short_help="Put a copy of the log in its place.")
@click.argument("copy", type=options.NamedPath(dir_okay=False, exists=True, path_type=Path))
@options.data
@options.database
@options.print_errors
def restore_log(copy: Path, data: Path, database: str | None) -> None:
    """Put COPY, a file that SQLite's backup of events.db has made, in the place of the log.

    No process may use the directory. The log that is there is not deleted: it is moved into
    replaced-1 in the data directory, the next one into replaced-2. A file that is damaged, or of
    another catalog, is refused, and nothing changes. The next start of a server, or `catch-up`,
    builds the read models that are not of this log.
    """
    if database:
        raise InvalidInput(
            "the log is in a database, which has backups of its own (docs/postgresql.md): only a"
            " log in a file can be restored from a copy"
        )
    began = time.monotonic()
    make_directory(data)
    with ProjectorLock(data):
        done = restore_copy(copy, data)
    kept = "" if done.kept is None else f"; the log that was there is in {done.kept}"
    click.echo(_summary("restored", done.count, done.head, began) + kept, err=True)


def _check_target(file: str, data: Path, *, overwrite: bool) -> None:
    """Raise InvalidInput for a file in the data directory, or one that is not to be replaced."""
    if file == STANDARD:
        return
    if Path(file).resolve().is_relative_to(data.resolve()):
        raise InvalidInput(f"{file} is inside the data directory {data}: export to another place")
    if Path(file).is_file() and not overwrite:
        raise InvalidInput(f"{file} exists: name another file, or replace it with --overwrite")


@contextmanager
def exported(file: str) -> Iterator[ExportReader]:
    """Open a file that `export` wrote, for the length of a block; raises InvalidInput."""
    with _lines(file) as lines:
        yield ExportReader(lines, file)


def _summary(done: str, count: int, head: int, began: float) -> str:
    seconds = max(time.monotonic() - began, 1e-9)
    return f"{done} {count} events, head {head}, in {seconds:.1f} s ({count / seconds:,.0f}/s)"


@contextmanager
def _lines(file: str) -> Iterator[Iterator[bytes]]:
    """The lines of a file or of standard input; raises InvalidInput when it cannot be read."""
    try:
        if file == STANDARD:
            yield iter(sys.stdin.buffer)
        elif file.endswith(".gz"):
            with gzip.open(file) as packed:
                yield iter(cast("BinaryIO", packed))
        else:
            with open(file, "rb") as plain:
                yield iter(plain)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InvalidInput(f"{file} cannot be read to its end: {error}") from None
