"""Words the log's refusals of appends, alike for every database."""

from collections.abc import Sequence

from domain.errors import AlreadyExists, ConcurrentChange

_NAMES_SHOWN = 5

HAS_SIBLINGS = "has another live child of the kind"
IS_GONE = "is gone"
HAS_CHILDREN = "has children"
HAS_LIVE_CHILDREN = "has live children"
HAS_LINEAGE = "has lineage"


def not_the_newest(entity_ids: Sequence[str]) -> ConcurrentChange:
    """The refusal of an append whose events do not continue these streams."""
    return ConcurrentChange("another writer was first; try again", entity_ids)


def another_epoch(entity_ids: Sequence[str]) -> ConcurrentChange:
    """The refusal of an append from another epoch: events may be lost, or names changed."""
    return ConcurrentChange(
        "the database was started anew, or something was renamed, meanwhile; try again", entity_ids
    )


def mentioned(entity_ids: Sequence[str]) -> ConcurrentChange:
    """The refusal of a rename: an event that was stored after the search has the old name."""
    return ConcurrentChange("another writer has referred to the name; try again", entity_ids)


def names_taken(names: Sequence[str]) -> AlreadyExists:
    """The refusal of names that other entities hold, or held before they were renamed."""
    return AlreadyExists(f"a name is taken: {', '.join(map(repr, names[:_NAMES_SHOWN]))}")


def id_taken() -> ConcurrentChange:
    """The refusal of an append that gives a claim to an entity which holds one already."""
    return ConcurrentChange("another writer was first to an id; try again")


def key_taken() -> ConcurrentChange:
    """The refusal of an append under an idempotency key that has a remembered answer."""
    return ConcurrentChange("another writer was first to a key; try again")


def not_as_expected(unmet: Sequence[tuple[str, str]]) -> ConcurrentChange:
    """The refusal for entities that are not as expected: the id of each, and its actual state."""
    entity_id, what = unmet[0]
    return ConcurrentChange(
        f"another writer was first: {entity_id} {what}; try again",
        [entity_id for entity_id, _ in unmet],
    )
