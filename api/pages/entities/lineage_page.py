"""The page of the lineage of an entity."""

from typing import Any

from litestar.handlers import HTTPRouteHandler

from api.declaring.declared_query import Parameters, query
from api.pages.entities.entity import crumbs_of
from api.pages.entities.entity_routes import EntityPages, EntityRequest, may_view
from api.pages.entities.picture import picture_of
from api.pages.frame.rendering import Renderer, is_part
from api.pages.lineage.drawing import Asked
from api.pages.lineage.walk import MOST_STEPS
from api.services import Services
from api.use_cases.edge_sight import check_sees_lineage
from projections.entities.lineage import BOUNDS

_PARAMETERS: Parameters = {
    "up": query(int, "Steps upstream.", 1, ge=0, le=MOST_STEPS),
    "down": query(int, "Steps downstream.", 1, ge=0, le=MOST_STEPS),
    "column": query(str, "Qualified name of the column whose path is lit.", ""),
    "open_": query(str, "Name of the service or schema that is unfolded.", ""),
    "after": query(str, "Name behind which large layers begin.", ""),
}


def lineage_pages(services: Services, renderer: Renderer) -> list[HTTPRouteHandler]:
    """The page of the lineage of an entity."""
    pages = EntityPages(services, renderer)

    def shown(
        at: EntityRequest, up: int, down: int, column: str, open_: str, after: str
    ) -> dict[str, Any]:
        check_sees_lineage(at.access)
        entity, _ = at.decoded("")
        asked = Asked(column=column, opened=open_, after=after)
        return {
            "kind": at.kind.name,
            "entity": entity,
            "crumbs": crumbs_of(at.kind, entity),
            "picture": picture_of(at, up, down, asked, BOUNDS, in_place=is_part(at.request)),
        }

    return [pages.page("lineage", may_view, shown, _PARAMETERS, has_past=True)]
