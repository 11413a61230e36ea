"""How the read models stand to the log: what `/v1/system/projections` and `inspect` show."""

import time
from pathlib import Path

import msgspec

from domain.errors import StoreUnavailable
from projections.daemon import is_projected, read_states
from projections.stores import Stores


class ProjectionReport(msgspec.Struct, rename="camel"):
    """One projection beside the log."""

    name: str
    state: str
    error: str | None
    checkpoint: int
    head: int
    lag: int
    """Events of the log that it has not applied, as far as positions tell."""
    lag_seconds: float
    """Age of the oldest event that it has not applied; 0 when there is none."""
    entities: int
    bytes: int
    """Size on disk."""


class Inspection(msgspec.Struct, rename="camel"):
    """The log and everything derived from it."""

    head: int
    projected: bool
    """Whether some process runs the projectors."""
    log_bytes: int
    projections: list[ProjectionReport]


def inspect(stores: Stores) -> Inspection:
    """The state of every projection now."""
    directory = stores.directory
    states = read_states(directory)
    head = stores.log.head()
    projected = is_projected(directory)
    reports = []
    for name, store in stores.read_models.items():
        known = states.get(name)
        if not projected:
            state, error = "not running", None
        elif known is None:
            state, error = "unknown", "the daemon cannot share its state"
        else:
            state, error = known.state.value, known.error
        checkpoint = entities = 0
        try:
            checkpoint, entities = store.checkpoint(), store.count()
        except StoreUnavailable as unavailable:
            state, error = "unavailable", unavailable.message
        if checkpoint > head:
            state, error = "ahead of the log", "it was built from another log; rebuild it"
        reports.append(
            ProjectionReport(
                name=name,
                state=state,
                error=error,
                checkpoint=checkpoint,
                head=head,
                lag=max(head - checkpoint, 0),
                lag_seconds=_age_of_next(stores, checkpoint),
                entities=entities,
                bytes=_size(directory, name),
            )
        )
    return Inspection(head, projected, _size(directory, "events"), reports)


def _age_of_next(stores: Stores, checkpoint: int) -> float:
    waiting = stores.log.read(checkpoint, 1)
    return max(time.time() - waiting[0].event.at / 1000, 0.0) if waiting else 0.0


def _size(directory: Path, name: str) -> int:
    """Bytes of the files whose name begins with `name`, and of those in a folder of that name."""
    files = [*directory.glob(f"{name}.db*"), *directory.glob(f"{name}/**/*")]
    size = 0
    for file in files:
        try:
            size += file.stat().st_size if file.is_file() else 0
        except FileNotFoundError:
            continue
    return size
