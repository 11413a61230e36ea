"""Opens the measurements where the log is: in a file of the data directory, or in a database."""

import logging
from pathlib import Path

from domain.event_store.opening import needing_the_extra
from domain.measurements.bounds import Bounds
from domain.measurements.port import Measurements
from domain.measurements.sqlite.store import FILE, SqliteMeasurements

log = logging.getLogger("catalog.measurements")


def measurements_at(directory: Path, database: str | None, bounds: Bounds) -> Measurements:
    """The measurements of a data directory, or those in the database of the log at a URL.

    Nothing is read or made before it is used. Raises InvalidInput for a URL that is none, and
    StoreUnavailable when the client of the database is not installed.
    """
    if not database:
        return SqliteMeasurements(directory, bounds)
    if (directory / FILE).exists():
        log.warning(
            "measurements of the directory are not read: they are in the database",
            extra={"file": str(directory / FILE)},
        )
    with needing_the_extra():
        from domain.measurements.postgres.store import (  # noqa: PLC0415 - an extra
            open_postgres_measurements,
        )
    return open_postgres_measurements(database, bounds)
