"""Commits of the only process that writes to a read model, from where the read model stands."""

from collections.abc import Iterable, Mapping

from projections.entities.port import SortedReadModel
from projections.entities.replaced_states import EntityChange
from projections.entities.stored_entity import StoredEntity
from projections.search.documents.documents import SearchDocument
from projections.search.engine import DocumentChanges, SearchEngine


def commit(
    engine: SearchEngine,
    documents: Mapping[str, SearchDocument | None],
    position: int,
    fingerprint: str = "",
    replaced: Iterable[SearchDocument] = (),
) -> None:
    """Store documents by id, and remove those that are None."""
    after = engine.checkpoint_and_fingerprint()
    engine.apply(DocumentChanges(documents, position, after, fingerprint, None, replaced))


def store(
    model: SortedReadModel,
    entities: Mapping[str, StoredEntity | None],
    position: int,
    fingerprint: str,
) -> None:
    """Store rows by id, and purge those that are None."""
    changes = {key: change(one, position) for key, one in entities.items()}
    model.apply(changes, position, fingerprint, after=model.checkpoint_and_fingerprint())


def change(one: StoredEntity | None, position: int) -> EntityChange:
    """The change by which an entity comes to be stored, or (None) is purged at a position."""
    return EntityChange((), None, position) if one is None else EntityChange((), one)
