"""The rules between an entity, its parent and its edges, as what an append expects of the claims.

A live entity's parent is live, and every parent exists. So nothing is created or restored below
what is deleted, nothing live is left below what is soft-deleted, and nothing at all below what is
purged. Of contracts only one becomes live for an entity. A lineage edge is drawn between live
entities, and none is left at an entity that is purged. A writer that read otherwise is refused, and
plans again.
"""

from collections.abc import Iterable, Sequence

from domain.aggregate.entity import Entity
from domain.edges import EDGE, edge_ends
from domain.event_store.appends import prepared
from domain.event_store.writes import Append, Expectations, RememberedAnswer
from domain.events import EntityCreated, EntityRestored
from domain.kinds.registry import KINDS
from domain.writing.plans import Step

_MAKE_LIVE = frozenset((EntityCreated, EntityRestored))


def append_of(
    steps: Sequence[Step],
    epoch: int | None,
    answer: RememberedAnswer | None = None,
    states: Sequence[Entity] = (),
) -> Append:
    """What stores steps that were decided in an epoch of the log; see `prepared`."""
    recorded = [each for step in steps for each in step.events]
    return prepared(recorded, answer, expecting=expectations(steps), epoch=epoch, states=states)


def expectations(steps: Iterable[Step]) -> Expectations:
    """What must hold for an append of the events of these steps."""
    live, without_children, without_live_children = set[str](), set(), set()
    attached, restored = set[tuple[str, str]](), set[str]()
    for step in steps:
        types, entity = {type(each.event) for each in step.events}, step.after
        if not types:
            continue
        if entity.kind == EDGE:
            if not (entity.purged or _MAKE_LIVE.isdisjoint(types)):
                live.update(edge_ends(entity.fqn))
        elif entity.purged:
            without_children.add(entity.id)
        elif entity.deleted:
            without_live_children.add(entity.id)
        elif entity.parent_id is not None and not _MAKE_LIVE.isdisjoint(types):
            live.add(entity.parent_id)
            if KINDS[entity.kind].agreement is not None:
                attached.add((entity.kind, entity.parent_id))
        if EntityRestored in types:
            restored.add(entity.id)
    return Expectations(
        live=frozenset(live),
        without_children=frozenset(without_children),
        without_live_children=frozenset(without_live_children),
        # What has no children any more has no edges either.
        without_edges=frozenset(without_children),
        # What comes back with its entity was alone when it went, or there were several already
        # before there was this rule.
        sole=frozenset(each for each in attached if each[1] not in restored),
    )
