"""Commits of the only process that writes to a read model, from where the read model stands."""

from collections.abc import Mapping
from typing import Any

from projections.entities.port import SortedReadModel
from projections.search.engine import SearchEngine


def commit(
    model: SortedReadModel | SearchEngine,
    entities: Mapping[str, Any],
    position: int,
    fingerprint: str = "",
) -> None:
    """Store rows or documents by id, and remove those that are None."""
    model.apply(entities, position, fingerprint, after=model.checkpoint_and_fingerprint())
