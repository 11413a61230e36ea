"""The entities that depend on one, and their owners, beside what changes or deletes it."""

from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from api.callers.permissions import Action
from api.pages.entities.entity_routes import EntityRequest
from api.use_cases.edge_sight import sight_of
from api.use_cases.impact import Reached, impact_on
from domain.impact import Reach
from domain.kinds.bodies.components import Reference
from projections.entities.lineage import BOUNDS, Bounds

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


def dependents_of(at: EntityRequest, bounds: Bounds = BOUNDS) -> dict[str, Any] | None:
    """The entities that depend on one which may be deleted; None where the lineage is withheld.

    Blocks. The entity is live.
    """

    def all_of_it(fqn: str) -> Reached:
        return (), {Reach.ENTITY}

    impact = impact_on(
        at.services, at.access, _which(at), all_of_it, sight_of(at.access, Action.VIEW), bounds
    )
    if impact is msgspec.UNSET:
        return None
    named = [*impact.breaks, *impact.may_break, *impact.look_again]
    return {
        "total": len(named) + impact.omitted,
        "at_least": impact.truncated,
        "impact": msgspec.to_builtins(impact),
        "only_nearest": len(named) if impact.omitted else 0,
        **_owners(named),
    }


def dependents_of_column(at: EntityRequest, column: str) -> dict[str, Any] | None:
    """As `dependents_of`, of those that are made of a column, or may be.

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
        # Of what is not named, nothing is hit more surely than what is.
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
