"""Progress of a read model that is being built, in the words of errors, pages and /readyz."""

from projections.generations.current_generation import NotBuilt

RETRY_SECONDS = 5
"""Seconds after which a refused caller may ask again."""
_NAMES = {"entities": "lists"}
"""Projection -> name of its answers, where that is not the name of the projection."""


def read_as(name: str) -> str:
    """The use of a projection's read model in one word: `lists` or `search`."""
    return _NAMES.get(name, name)


def preparing(name: str, done: int | None, total: int | None) -> str:
    """The progress of a projection's read model, as `Preparing search: 41,000 of 100,000`."""
    what = f"Preparing {read_as(name)}"
    return what if done is None or total is None else f"{what}: {done:,} of {total:,}"


def progress_of(error: Exception) -> str | None:
    """The progress that caused an error; None for an error that no building read model caused."""
    if not isinstance(error, NotBuilt) or error.building is None:
        return None
    return preparing(error.name, error.building.done, error.building.total)
