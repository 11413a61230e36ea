"""Badges of contracts, to be shown on pages that are not the catalog's."""

from typing import Any

from litestar.handlers import HTTPRouteHandler

from api.callers.permissions import Access, Action, Permission
from api.declaring.operation import EntityRead
from api.declaring.signatures import AnyRequest, id_in_path
from api.services import Services
from api.use_cases.badges import SVG, badge_of
from api.use_cases.entity_reads import etag
from api.use_cases.measured import reading
from domain.aggregate.lifecycle import format_version
from domain.kinds.registry import CONTRACT


def badge_routes(services: Services) -> list[HTTPRouteHandler]:
    """The route of the badge of a contract."""

    def badge(request: AnyRequest, entity_id: str) -> tuple[bytes, dict[str, Any]]:
        access: Access = request.auth
        withheld = access.withheld(Action.VIEW, CONTRACT.name)
        contract = services.catalog.planner.live(CONTRACT, id_in_path(entity_id))
        made = badge_of(access, contract)
        digest = withheld.digest if withheld else None
        tag = etag(format_version(contract.version), contract.last_event, digest)
        headers = {"ETag": tag, "Content-Security-Policy": "default-src 'none'"}
        return made, {"headers": headers, "conditional": True, "media_type": SVG}

    viewing = Permission(Action.VIEW, CONTRACT.name)
    path = f"/v1/{CONTRACT.collection}/{{entity_id:str}}/badge.svg"
    return [_BADGE.at("GET", path, viewing, reading(services, badge))]


_BADGE = EntityRead(
    "get{Kind}Badge",
    "Get a badge of a {kind}",
    "Its status, the version of its document (of one without, that of the {kind} itself) and the"
    " verdict on it.",
    answer="",
    headers=("ETag",),
    media_type=SVG,
)
