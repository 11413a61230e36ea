"""Shows the progress of a command: a bar on a terminal, a line every few seconds elsewhere."""

import sys
import time

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
