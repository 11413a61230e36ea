"""Imports files of JSON lines, and shows progress: a bar on a terminal, lines elsewhere."""

import gc
import gzip
import os
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO, cast
from uuid import uuid4

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

from api.processes.termination import Interruption
from api.settings import Settings
from domain.errors import InvalidInput, StoreUnavailable
from domain.importing.bulk_import import Batch, BulkImport, ImportStopped
from domain.importing.lines import Chunk, batches, bounded_lines, transactions
from domain.importing.readers import CHUNK_BYTES, CHUNK_LINES, line_readers
from domain.machine import clock
from domain.write_context import WriteContext
from projections.wiring.stores import open_log

_SECONDS_BETWEEN_LINES = 5.0
_COLLECT_AFTER = 100_000
_STANDARD = Path("-")
_GZIP_MAGIC = b"\x1f\x8b"


class ImportRun:
    """One run of `catalog import` over some files."""

    def __init__(self, settings: Settings, actor: str, *, as_bot: bool) -> None:
        """`as_bot` keeps what people curated, as the PUTs of a bot do."""
        self._settings = settings
        self._context = WriteContext(actor=actor, request_id=str(uuid4()), by_bot=as_bot)
        self._counts = Batch()
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            disable=not sys.stderr.isatty(),
        )
        self._started = self._said = time.monotonic()

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Open the log for the length of a block; raises what `open_log` raises."""
        # Only after many new objects: lines leave no garbage that holds itself.
        gc.freeze()
        gc.set_threshold(_COLLECT_AFTER)
        with (
            Interruption() as self._interruption,
            # Before the log is opened and the bar is drawn: see `line_readers`.
            line_readers() as self._readers,
            closing(open_log(self._settings.directory, self._settings.database_url)) as log,
            self._progress,
        ):
            self._import = BulkImport(
                log,
                self._context,
                now=clock.now,
                gate=self._settings.gate,
            )
            yield

    @property
    def failed(self) -> int:
        """Number of lines that were not imported."""
        return len(self._counts.bad)

    def load(self, file: Path) -> None:
        """Import one file.

        Raises InvalidInput for a file that cannot be read as lines. Raises ImportStopped, which
        says how far the file is stored, when the log cannot be used.
        """
        upto = 0
        with self._opened_file(file) as raw, self._lines(file, raw) as lines:
            task = self._progress.add_task(file.name, total=os.fstat(raw.fileno()).st_size)
            reading = _Reading(raw, lines, self._interruption)
            try:
                read = self._readers.read(reading.chunks())
                for chunk in transactions(read):
                    self._add(file, self._import.load(chunk))
                    self._progress.update(task, completed=chunk.end)
                    upto = chunk.lines[-1][0]
            except ImportStopped as stopped:
                self._add(file, stopped.stored)
                raise _stopped(file, stopped.message, stopped.upto) from None
            except StoreUnavailable as error:
                raise _stopped(file, error.message, upto) from None
            if reading.error is not None:
                raise InvalidInput(
                    f"{file} cannot be read beyond line {reading.number}: {reading.error};"
                    " the good lines up to there are stored"
                )

    def _opened_file(self, file: Path) -> BufferedReader:
        """The file as it is stored, or standard input; raises InvalidInput when that is closed."""
        if file == _STANDARD and sys.stdin is None:
            raise InvalidInput("standard input is closed")
        # A named pipe is opened once somebody writes to it.
        with self._interruption.interruptible():
            return open(0, "rb", closefd=False) if file == _STANDARD else file.open("rb")

    def _lines(self, file: Path, raw: BufferedReader) -> BinaryIO:
        """The file's lines, decompressed when its name or its first bytes say so."""
        with self._interruption.interruptible():
            packed = file.suffix == ".gz" or raw.peek(2).startswith(_GZIP_MAGIC)
        return cast("BinaryIO", gzip.GzipFile(fileobj=raw)) if packed else raw

    def _add(self, file: Path, batch: Batch) -> None:
        counts = self._counts
        counts.add(batch)
        for report in sorted((*batch.bad, *batch.dropped), key=lambda each: each.number):
            said = f"{file.name}:{report.number}: {report.reason}"
            if self._progress.disable:
                click.echo(said, err=True)
                continue
            self._progress.console.print(
                said, markup=False, emoji=False, highlight=False, soft_wrap=True
            )
        now = time.monotonic()
        if self._progress.disable and now - self._said > _SECONDS_BETWEEN_LINES:
            self._said = now
            click.echo(f"{file.name}: {counts.lines} lines", err=True)

    def summary(self) -> str:
        """Say in one line how many lines were imported and what became of them."""
        counts = self._counts
        seconds = max(time.monotonic() - self._started, 1e-9)
        return (
            f"{counts.lines} lines: {counts.created} created, {counts.changed} changed,"
            f" {counts.unchanged} unchanged, {len(counts.bad)} bad; {counts.events} events"
            f" in {seconds:.1f} s ({counts.events / seconds:,.0f}/s)"
        )


class _Reading:
    """The reading of one file, which ends where the file breaks off."""

    def __init__(self, raw: BinaryIO, lines: BinaryIO, interruption: Interruption) -> None:
        """`raw` is the file, not decompressed."""
        self._raw = raw
        self._lines = lines
        self._interruption = interruption
        self.number = 0
        """Number of lines that were read."""
        self.error: Exception | None = None
        """Reason why no more lines could be read."""

    def chunks(self) -> Iterator[Chunk]:
        """The lines in chunks as processes read them."""
        numbered = batches(self._readable(), CHUNK_LINES, CHUNK_BYTES)
        while True:
            with self._interruption.interruptible():
                lines = next(numbered, None)
            if lines is None:
                return
            # A pipe has no place in it.
            yield Chunk(lines, self._raw.tell() if self._raw.seekable() else 0)

    def _readable(self) -> Iterator[bytes]:
        try:
            for line in bounded_lines(self._lines):
                self.number += 1
                yield line
        except (gzip.BadGzipFile, EOFError, zlib.error, OSError) as error:
            self.error = error


def _stopped(file: Path, why: str, upto: int) -> ImportStopped:
    """The error that says how far the import of a file has come."""
    return ImportStopped(
        f"{why}; stopped: of {file} all good lines up to line {upto} are stored, and none of the"
        " files after it. Import again once that is mended: what is stored already stores"
        " no event",
        Batch(),
        upto,
    )
