"""`catalog-replay export`, `import` and `restore`: the log as a file, to keep and to move."""

import gzip
import shutil
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path

import click

from domain.errors import Conflict, InvalidInput
from domain.event_store.opening import database_note, holds_log, move_log, restore_copy
from domain.event_store.port import EventStore
from domain.event_store.transfer import ExportReader, export
from projections.feeding.daemon import ProjectorLock
from projections.wiring.stores import make_directory, open_log, read_models_in
from replay_tool import options
from replay_tool.export_target import STANDARD, open_target

_UNFINISHED = "import.new"
"""The directory, inside the data directory, of a log that is not whole yet."""
_REPORTED_EVERY = 5_000
"""Events between two reports of progress."""

_file = click.argument("file", type=options.NamedPath(dir_okay=False, allow_dash=True))


@click.command("export", short_help="Write the log to a file.")
@_file
@click.option("--overwrite", is_flag=True, help="Replace FILE if it exists.")
@options.on_catalog
def export_log(catalog: options.CatalogTarget, file: str, overwrite: bool) -> None:
    """Write the log to FILE as JSON lines, compressed when it is named .gz; - is standard output.

    Takes the log as it is when the command begins; a server may run. A regular file appears when
    the export is whole; a FIFO or a device is written into. The last line proves to `import`
    and to `verify log --against` that the file is whole.
    """
    _check_target(file, catalog.data, overwrite=overwrite)
    began = time.monotonic()
    with (
        catalog.open_log() as log,
        log.snapshot() as snapshot,
        options.Meter("export") as meter,
        open_target(file) as out,
    ):
        for number, line in enumerate(export(log, snapshot)):
            out.write(line)
            if number % _REPORTED_EVERY == 0:
                meter.report(number, snapshot.count)
        count, head = snapshot.count, snapshot.head
    click.echo(_summary("exported", count, head, began), err=True)


@click.command("import", short_help="Make a catalog of an exported log.")
@_file
@options.data
@options.database
@options.print_errors
def import_log(file: str, data: Path, database_url: str | None) -> None:
    """Make a catalog of the log in FILE (- is standard input), in a directory that holds none.

    All of the log or nothing: a file that was cut off or changed is refused, and leaves nothing
    behind but the lock of the directory, projectors.lock. The next start of a server, or
    `catch-up`, builds the read models. Idempotency keys are not imported. The tables of a named
    database must hold no event.
    """
    began = time.monotonic()
    # A file that does not even begin like an export is refused before anything is made.
    with (
        exported(file) as reader,
        open_import(data, database_url) as log,
        options.Meter("import") as meter,
    ):
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
def restore_log(copy: Path, data: Path, database_url: str | None) -> None:
    """Put COPY, a file that SQLite's backup of events.db has made, in the place of the log.

    No process may use the directory. The log that is there is not deleted: it is moved into
    replaced-1 in the data directory, the next one into replaced-2. A file that is damaged, or of
    another catalog, is refused, and nothing changes. The next start of a server, or `catch-up`,
    builds the read models that are not of this log.
    """
    if database_url:
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
    """Open a file that `export` wrote, or standard input, for the length of a block.

    Raises InvalidInput when it cannot be read, or is no export.
    """
    try:
        opened = gzip.open if file.endswith(".gz") else open
        with nullcontext(sys.stdin.buffer) if file == STANDARD else opened(file, "rb") as lines:
            yield ExportReader(lines, file)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InvalidInput(f"{file} cannot be read to its end: {error}") from None


def _summary(done: str, count: int, head: int, began: float) -> str:
    seconds = max(time.monotonic() - began, 1e-9)
    return f"{done} {count} events, head {head}, in {seconds:.1f} s ({count / seconds:,.0f}/s)"


@contextmanager
def open_import(data: Path, database: str | None) -> Iterator[EventStore]:
    """An empty log to fill, which is the log of a data directory once the block has ended.

    Nothing that this makes stays when the block raises, but for the tables of a database, and the
    directory with its lock; what a killed import left is thrown away. An empty log that is there
    already, or that of a database, is filled in its place. Raises Conflict for a directory with
    read models, and StoreUnavailable when a process projects it.
    """
    # Not the file of the lock: another process may hold it as soon as this one does not, and the
    # next one would make a file, and have a lock, of its own.
    made = (database_note(data), data, *data.parents)
    absent = [path for path in made if not path.exists()]
    make_directory(data)
    try:
        with ProjectorLock(data):
            if left := read_models_in(data):
                raise Conflict(
                    f"{data} holds a catalog (it has {left[0]}): import into an empty directory"
                )
            if database or holds_log(data):
                with closing(open_log(data, database)) as log:
                    yield log
            else:
                directory = data / _UNFINISHED
                shutil.rmtree(directory, ignore_errors=True)
                try:
                    with closing(open_log(directory)) as log:
                        yield log
                    move_log(directory, data)
                finally:
                    shutil.rmtree(directory, ignore_errors=True)
    except BaseException:
        for path in absent:
            # A directory stays that the lock is in, or what others have put there.
            with suppress(OSError):
                path.rmdir() if path.is_dir() else path.unlink()
        raise
