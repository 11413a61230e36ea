"""The part of an entity that breaking changes of its contract are about."""

from collections.abc import Iterable

from domain.aggregate.entity import Entity
from domain.contracts.changes.rules import Change, Level
from domain.contracts.changes.terms import own_object
from domain.contracts.elements import is_name
from domain.contracts.exporting import document_of
from domain.impact import Reach
from domain.kinds import names

_MOVES = (
    *("object.removed", "physical-name.changed", "entity.changed"),
    *("server.changed", "server.removed"),
)
"""Rules whose changes keep readers from finding the data, unless a single column changes."""


def reach_of(
    changes: Iterable[Change], contract: Entity, entity_fqn: str
) -> tuple[list[str], set[Reach]]:
    """Qualified names of the columns that readers lose, and what the changes are about.

    Changes in schema objects that stand for other entities than the contract's do not count.
    """
    own = str(own_object(contract, document_of(contract)).get("name"))
    columns, reaches = dict[str, None](), set[Reach]()
    for change in changes:
        is_own = not change.place or change.place[0] == own
        if change.rule.consumer is not Level.BREAKING or not is_own:
            continue
        if len(change.place) > 1:
            # No lineage leads to a text that cannot be the name of a column; it may be a megabyte.
            if all(map(is_name, change.place[1:])):
                columns[".".join((entity_fqn, names.join(change.place[1:])))] = None
            reaches.add(Reach.COLUMNS)
        else:
            reaches.add(Reach.ENTITY if change.rule.word in _MOVES else Reach.PROMISE)
    return [*columns], reaches
