"""Notes in a data directory whether a server has begun to serve it."""

from pathlib import Path

from projections.generations.folder import storage_errors
from projections.wiring.local_read_models import (
    entities_definition,
    open_generations,
    search_definition,
)

_UNSERVED = "not-served-yet"
"""The file that says of a directory with read models that no server has begun to serve it."""


def was_served(directory: Path) -> bool:
    """Whether a server has begun to serve a data directory, of this version or of an older one.

    Each that was served has read models; tools that build them before note it.
    """
    return _has_read_models(directory) and not (directory / _UNSERVED).exists()


def note_before_serving(directory: Path) -> None:
    """To be called by tools before they build read models: notes it where there are none yet.

    Raises StoreUnavailable.
    """
    if not _has_read_models(directory):
        with storage_errors("the data directory cannot be written"):
            (directory / _UNSERVED).touch()


def note_served(directory: Path) -> None:
    """To be called by a server that has made what it makes once. Raises StoreUnavailable."""
    with storage_errors("the data directory cannot be written"):
        (directory / _UNSERVED).unlink(missing_ok=True)


def _has_read_models(directory: Path) -> bool:
    definitions = (entities_definition(), search_definition())
    return any(open_generations(directory, definition).numbers() for definition in definitions)
