"""The horizon: the position of the log before which no read model answers for the past any more."""

from datetime import UTC, datetime, timedelta

import msgspec

from domain.errors import BeforeHorizon

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


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
                f" {_written(self.at)}, and {asked} is before it: CATALOG_HISTORY_DAYS bounds the"
                " past that is kept"
            )


def _written(at: int) -> str:
    """A time as ISO 8601 has it; its milliseconds since the Unix epoch where no calendar has it."""
    try:
        moment = _EPOCH + timedelta(milliseconds=at)
    except OverflowError:
        return str(at)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
