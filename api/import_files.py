"""Imports files of JSON lines, and shows progress: a bar on a terminal, lines elsewhere."""

import gzip
import sys
import time
import zlib
from pathlib import Path
from types import TracebackType
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

from domain.bulk_import import Batch, BulkImport, ImportStopped, batches
from domain.errors import InvalidInput
from domain.write_context import WriteContext
from projections.stores import open_log

_SECONDS_BETWEEN_LINES = 5.0


class ImportRun:
    """One run of `catalog import` over some files; use it in a `with` statement."""

    def __init__(self, directory: Path, actor: str) -> None:
        self._directory = directory
        self._actor = actor
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

    def __enter__(self) -> "ImportRun":
        self._log = open_log(self._directory)
        context = WriteContext(actor=self._actor, request_id=str(uuid4()))
        self._import = BulkImport(self._log, context, now=lambda: time.time_ns() // 1_000_000)
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()
        self._log.close()

    @property
    def failed(self) -> int:
        """How many lines were not imported."""
        return len(self._counts.bad)

    def load(self, file: Path) -> None:
        """Import one file.

        Raises InvalidInput for a file that cannot be read as lines. Raises ImportStopped, which
        says how far the file is stored, when the log cannot be used.
        """
        task = self._progress.add_task(file.name, total=file.stat().st_size)
        with file.open("rb") as raw, _lines(file, raw) as lines:
            try:
                for group in batches(lines):
                    batch = self._import.load(group)
                    self._add(file, batch)
                    self._progress.update(task, completed=raw.tell())
            except ImportStopped as stopped:
                self._add(file, stopped.stored)
                raise ImportStopped(
                    f"{stopped.message}; stopped: of {file} all good lines up to line"
                    f" {stopped.upto} are stored, and none of the files after it. Import again"
                    " when the log can be written: what is stored already stores no event",
                    stopped.stored,
                    stopped.upto,
                ) from None
            except (gzip.BadGzipFile, EOFError, zlib.error, OSError) as error:
                raise InvalidInput(f"{file} cannot be read to its end: {error}") from None

    def _add(self, file: Path, batch: Batch) -> None:
        counts = self._counts
        counts.add(batch)
        for bad in batch.bad:
            said = f"{file.name}:{bad.number}: {bad.reason}"
            self._progress.console.print(
                said, markup=False, emoji=False, highlight=False, soft_wrap=True
            )
        now = time.monotonic()
        if self._progress.disable and now - self._said > _SECONDS_BETWEEN_LINES:
            self._said = now
            click.echo(f"{file.name}: {counts.lines} lines", err=True)

    def summary(self) -> str:
        """How many lines were imported and what became of them, in one line."""
        counts = self._counts
        seconds = max(time.monotonic() - self._started, 1e-9)
        return (
            f"{counts.lines} lines: {counts.created} created, {counts.changed} changed,"
            f" {counts.unchanged} unchanged, {len(counts.bad)} bad; {counts.events} events"
            f" in {seconds:.1f} s ({counts.events / seconds:,.0f}/s)"
        )


def _lines(file: Path, raw: BinaryIO) -> BinaryIO:
    """The file's lines, decompressed when its name ends in .gz."""
    return cast("BinaryIO", gzip.GzipFile(fileobj=raw)) if file.suffix == ".gz" else raw
