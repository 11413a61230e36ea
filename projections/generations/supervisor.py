"""The port of what keeps the live generation of a projection current, in one process or shared."""

from typing import Protocol

from projections.feeding.daemon import Steps
from projections.feeding.port import Progress


class Supervisor(Steps, Protocol):
    """Feeds and switches the generations of one projection: opened, stepped and closed."""

    on_progress: Progress
    """Called as a generation is built, which may be set before the first step."""

    @property
    def current(self) -> bool:
        """Whether a live generation is open."""

    def open(self) -> None:
        """To be called once, before the first step."""

    def interrupt(self) -> None:
        """Ends a building or a check under way, as the process is about to stop."""

    def close(self) -> None:
        """To be called when the thread that stepped has ended."""
