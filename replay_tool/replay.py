"""Drives one projector to the head of the log, showing how far it is."""

import sys
import time

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from domain.event_store.port import EventStore
from projections.projector import Projector

_SECONDS_BETWEEN_LINES = 5.0


class Replay:
    """One projector's way to the head: a bar on a terminal, a line now and then elsewhere."""

    def __init__(self, projector: Projector, store: EventStore) -> None:
        self._projector = projector
        self._store = store

    def run(self) -> str:
        """Apply everything up to the head; returns one line of counts."""
        projector = self._projector
        start, head = projector.projection.checkpoint(), self._store.head()
        began = said = time.monotonic()
        events = 0
        with Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            disable=not sys.stderr.isatty(),
        ) as progress:
            task = progress.add_task(projector.name, total=head - start)
            while applied := projector.step():
                events += applied
                progress.update(task, completed=projector.projection.checkpoint() - start)
                if progress.disable and time.monotonic() - said > _SECONDS_BETWEEN_LINES:
                    said = time.monotonic()
                    click.echo(f"{projector.name}: {events} events", err=True)
        seconds = max(time.monotonic() - began, 1e-9)
        return (
            f"{projector.name}: {events} events applied in {seconds:.1f} s"
            f" ({events / seconds:,.0f}/s), checkpoint {projector.projection.checkpoint()}"
        )
