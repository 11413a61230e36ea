"""Changes from one version of a contract to another, graded, with what they hit downstream."""

from collections import Counter
from itertools import groupby
from operator import attrgetter
from typing import Any

import msgspec
from litestar.handlers import HTTPRouteHandler

from api.callers.permissions import Access, Action
from api.comparisons import ContractChange, PerspectiveName, comparison
from api.declaring.declared_query import Parameters, query
from api.pages.entities.dependents import HITS_SHOWN
from api.pages.entities.entity_routes import EntityPages, EntityRequest, of_contracts
from api.pages.frame.addresses import with_query
from api.pages.frame.rendering import Renderer
from api.services import Services
from api.use_cases.comparisons import compare_stored
from api.use_cases.edge_sight import sight_of
from api.use_cases.impact import impact_on_readers
from domain.aggregate.entity import Entity
from domain.contracts.changes.rules import RULES, Bump, Change, Level, Perspective
from domain.errors import cut

CHANGES_SHOWN = 100
"""Changes of one page."""
_MOST_TEXT = 320
"""Characters of a path or a value: of a value those that a comparison keeps."""
_VIEWS = {"consumer": "Readers", "producer": "Writers", "full": "Both"}
_PARAMETERS: Parameters = {
    "from_": query(str, "The older version.", "", name="from"),
    "to": query(str, "The newer version.", ""),
    "perspective": query(PerspectiveName, "For whom changes are graded.", "consumer"),
    "start": query(int, "Changes to pass over.", 0, ge=0),
}


class GradedChange(msgspec.Struct, frozen=True):
    """A row of the table of changes."""

    level: Level
    """The grade in the view that was asked for."""
    change: str
    path: str
    before: str | None
    after: str | None
    consumer: Level
    producer: Level
    bump: Bump


def impact_pages(services: Services, renderer: Renderer) -> list[HTTPRouteHandler]:
    """The page of two versions of a contract, compared by the rules of contracts."""

    def graded(
        at: EntityRequest, from_: str, to: str, perspective: PerspectiveName, start: int
    ) -> dict[str, Any]:
        entity, _ = at.decoded(None)
        newest = f"{entity['version']:.1f}"
        old, new = from_ or newest, to or newest
        contract, changes = compare_stored(
            services,
            at.access,
            entity["id"],
            b"",
            is_yaml=False,
            exact=False,
            from_=old,
            to=new,
            position=at.moment.position if at.moment else None,
        )
        view = Perspective(perspective)
        compared = comparison(changes, view)
        # Only the page of the present shows the impact: the impact of the past helps nobody.
        is_told = not start and at.moment is None
        impact = _impact(services, at.access, contract, changes) if is_told else None
        end = start + CHANGES_SHOWN
        rows = [_row(each) for each in compared.changes[start:end]]
        address, side_by_side = (
            at.address(entity["fullyQualifiedName"], view) for view in ("impact", "compare")
        )
        kept: dict[str, str | None] = {"from": old, "to": new}
        paged = kept | {"perspective": perspective}
        more = end < len(compared.changes)
        levels = Counter(change.rule.level(view) for change in changes)
        return {
            "kind": at.kind.name,
            "entity": entity,
            "versions": (old, new),
            "compatible": compared.compatible,
            "bump": compared.bump,
            "total": len(changes),
            "counts": [(level, levels[level]) for level in Level if levels[level]],
            "groups": [(level, list(group)) for level, group in groupby(rows, attrgetter("level"))],
            "omitted": 0 if more else compared.omitted,
            "impact": impact,
            **HITS_SHOWN,
            "perspective": perspective,
            "perspectives": [
                (name, title, with_query(address, kept | {"perspective": name}))
                for name, title in _VIEWS.items()
            ],
            "side_by_side": with_query(side_by_side, kept),
            "turned_around": with_query(address, paged | {"from": new, "to": old}),
            "first": with_query(address, paged) if start else None,
            "next": with_query(address, paged | {"start": str(end)}) if more else None,
        }

    pages = EntityPages(services, renderer)
    return [pages.page("impact", of_contracts(Action.VIEW), graded, _PARAMETERS, has_past=True)]


def _row(change: ContractChange) -> GradedChange:
    rule = RULES[change.rule]
    return GradedChange(
        level=change.level,
        change=rule.change,
        path=cut(change.path, _MOST_TEXT),
        before=_text(change.before),
        after=_text(change.after),
        consumer=change.consumer,
        producer=change.producer,
        bump=rule.bump,
    )


def _text(value: Any) -> str | None:
    """A value as a person reads it; None for nothing."""
    if value is None:
        return None
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return cut(text, _MOST_TEXT)


def _impact(
    services: Services, access: Access, contract: Entity, changes: list[Change]
) -> dict[str, Any] | None:
    """The impact as the API tells it, without what is withheld; None where all of it is."""
    impact = impact_on_readers(services, access, contract, changes, sight_of(access, Action.VIEW))
    return None if impact is msgspec.UNSET else msgspec.to_builtins(impact)
