"""The entities that depend on one, and their owners, beside what changes or deletes it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec

from api.callers.permissions import Action
from api.pages.entities.entity_routes import EntityRequest
from api.use_cases.edge_sight import sight_of
from api.use_cases.impact import Reached, impact_on
from domain.impact import Reach
from domain.kinds.bodies.components import Reference
from domain.kinds.registry import ATTACHED
from projections.entities.lineage import BOUNDS, Bounds, Node

MOST_PARTS = 2_000
"""Entities below one that count as parts of it."""
OWNERS_NAMED = 12
"""Owners of dependents that a page names, those of most of them first."""
HITS_SHOWN: Mapping[str, Any] = MappingProxyType(
    {
        "tiers": (
            ("Breaks", "What they read goes away or changes.", "breaks"),
            (
                "May break",
                "They are made directly of it; nobody knows of which columns.",
                "mayBreak",
            ),
            ("Look again", "They are made of other columns, or further down.", "lookAgain"),
        ),
        "columns_named": 12,
        "owners_named": 10,
    }
)
"""The values by which templates show entities that are hit: the tiers with their titles, and how
many columns and owners they name of each entity."""


def dependents_of(
    at: EntityRequest, parts: Sequence[Node] = (), bounds: Bounds = BOUNDS
) -> dict[str, Any] | None:
    """The entities that depend on a live entity; None where the lineage is withheld. Blocks.

    Entities that depend on its `parts`, which would be deleted with it, are among them.
    """

    def all_of_it(fqn: str) -> Reached:
        return (), {Reach.ENTITY}

    sight = sight_of(at.access, Action.VIEW)
    whole = parts[:MOST_PARTS]
    impact = impact_on(at.services, at.access, _which(at), all_of_it, sight, whole, bounds)
    if impact is msgspec.UNSET:
        return None
    named = [*impact.breaks, *impact.may_break, *impact.look_again]
    return {
        "total": len(named) + impact.omitted,
        "at_least": impact.truncated or len(whole) < len(parts),
        "impact": msgspec.to_builtins(impact),
        "only_nearest": len(named) if impact.omitted else 0,
        **_owners(named),
    }


def parts_of(at: EntityRequest, entity_id: str) -> list[Node]:
    """The live entities below one, which a recursive delete finds; parents before their children.

    The search ends after the level with which there are more than MOST_PARTS. Blocks.
    """
    parts: list[Node] = []
    level = [entity_id]
    while level and len(parts) <= MOST_PARTS:
        claims = at.services.stores.log.claims(parents=level)
        below = [each for each in claims if not each.deleted and each.kind not in ATTACHED]
        parts += [Node(each.kind, each.id, each.name, each.fqn) for each in below]
        level = [each.id for each in below]
    return parts


def dependents_of_column(at: EntityRequest, column: str) -> dict[str, Any] | None:
    """The entities that are, or may be, made of a column; None where the lineage is withheld.

    `column` is the qualified name of the column in the entity.
    """

    def one_column(fqn: str) -> Reached:
        return [f"{fqn}.{column}"], {Reach.COLUMNS}

    impact = impact_on(
        at.services, at.access, _which(at), one_column, sight_of(at.access, Action.VIEW)
    )
    if impact is msgspec.UNSET:
        return None
    named = [*impact.breaks, *impact.may_break]
    return {
        "total": len(impact.breaks),
        "perhaps": len(impact.may_break),
        "only_nearest": 0,
        # Entities that are left out are hit no more surely than those that are named.
        "at_least": impact.truncated or bool(impact.omitted and not impact.look_again),
        **_owners(named),
    }


def _which(at: EntityRequest) -> Reference:
    return Reference(type=at.kind.name, fully_qualified_name=at.name)


def _owners(hits: Iterable[Any]) -> dict[str, Any]:
    """The owners of entities that are hit, each with the number of those that it owns."""
    counts: Counter[str] = Counter()
    references: dict[str, dict[str, Any]] = {}
    unowned = withheld = 0
    for hit in hits:
        if hit.owners is msgspec.UNSET:
            withheld += 1
            continue
        unowned += not hit.owners
        for owner in hit.owners:
            counts[owner["id"]] += 1
            references[owner["id"]] = owner
    owners = [(references[each], count) for each, count in counts.most_common()]
    return {
        "owners": owners[:OWNERS_NAMED],
        "more_owners": len(owners[OWNERS_NAMED:]),
        "unowned": unowned,
        "owners_withheld": withheld,
    }
