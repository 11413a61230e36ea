"""The horizon: the position of the log before which no read model answers for the past any more."""

import msgspec

from domain.errors import BeforeHorizon
from domain.reading.utc_times import written


class Horizon(msgspec.Struct, frozen=True):
    """The earliest position as of which a read model can be read.

    States that were replaced up to it are removed.
    """

    position: int = 0
    """0 where nothing was removed."""
    at: int = 0
    """The greatest time of the events up to the position, in milliseconds since the Unix epoch."""

    def refuse(self, asked: int) -> None:
        """Raise BeforeHorizon for a position as of which the read model cannot be read."""
        if asked < self.position:
            raise BeforeHorizon(
                f"the past is kept from position {self.position} on, which the log reached at"
                f" {written(self.at)}, and {asked} is before it: CATALOG_HISTORY_DAYS bounds the"
                " past that is kept"
            )
