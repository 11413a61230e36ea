"""Entities that one refers to, or that stand below one, as lists of their own."""

from typing import Any

import msgspec
from litestar.handlers import HTTPRouteHandler

from api.callers.permissions import Access, Action, Permission
from api.declaring.declared_query import Parameters, query
from api.declaring.operation import Operation
from api.declaring.signatures import AnyRequest, id_in_path
from api.routes.entities.keys import FOLLOWERS
from api.services import Services
from api.use_cases.measured import reading
from domain.errors import EntityOverLimit
from domain.kinds import names
from domain.kinds.entity_kind import EntityKind
from projections.entities.list_port import ListRequest
from projections.entities.single_entities import read_one

MOST_CHARACTERS = 8_000_000
"""The most characters of all names and descriptions of a hierarchy."""
_SHOWN = ("id", "name", "fullyQualifiedName", "displayName", "description")
_PART_BYTES = 256 * 1024
_MOST_LEVELS = 50
"""Levels of a hierarchy; what stands deeper is shown at the top."""
_LIMIT: Parameters = {
    "limit": query(int, "The most entities, of all levels together.", 1_000, ge=1, le=1_000)
}


def related_routes(kind: EntityKind, services: Services) -> list[HTTPRouteHandler]:
    """The routes of an entity's followers, and of the hierarchy of a kind that nests."""

    def followers(request: AnyRequest, entity_id: str) -> bytes:
        access: Access = request.auth
        if withheld := access.withheld(Action.VIEW, kind.name):
            withheld.refuse_field(FOLLOWERS, FOLLOWERS)
        with services.stores.entities.use() as entities:
            wanted = id_in_path(entity_id)
            entity = read_one(entities, kind, entity_id=wanted, fields=(FOLLOWERS,))
        listed = msgspec.json.decode(entity.body)[FOLLOWERS]
        return msgspec.json.encode({"data": listed, "paging": {"total": len(listed)}})

    def hierarchy(request: AnyRequest, limit: int) -> bytes:
        withheld = request.auth.withheld(Action.LIST, kind.name)
        asked = ListRequest(kind=kind, limit=limit)
        nodes: list[dict[str, Any]] = []
        above: dict[str, str] = {}
        size = 0
        with services.stores.entities.use() as entities, entities.read_list(asked, None) as reader:
            reader.hand_over()
            total, _ = reader.totals()
            for part in reader.parts(_PART_BYTES):
                for _, entity_id, core, *_ in part:
                    whole = msgspec.json.decode(withheld.cut(core) if withheld else core)
                    if parent := whole.get(kind.parents[0]):
                        above[entity_id] = parent["id"]
                    nodes.append({key: whole[key] for key in _SHOWN if key in whole})
                    size += sum(map(len, nodes[-1].values()))
                if size > MOST_CHARACTERS:
                    raise EntityOverLimit(
                        f"names and descriptions of a hierarchy may have {MOST_CHARACTERS}"
                        " characters: ask for less of it by `limit`"
                    )
        return msgspec.json.encode({"data": _nested(nodes, above), "paging": {"total": total}})

    path = f"/v1/{kind.collection}"
    routes = []
    if FOLLOWERS in kind.keys:
        viewing = Permission(Action.VIEW, kind.name)
        item = f"{path}/{{entity_id:str}}/{FOLLOWERS}"
        routes.append(_FOLLOWERS.at("GET", item, viewing, reading(services, followers)))
    if kind.nests:
        listing = Permission(Action.LIST, kind.name)
        tree = reading(services, hierarchy)
        routes.append(
            _HIERARCHY.at("GET", f"{path}/hierarchy", listing, tree, _LIMIT, unsupported={})
        )
    return routes


_FOLLOWERS = Operation("list{Kind}Followers", "List the followers of a {kind}", answer="References")
_HIERARCHY = Operation(
    "list{Kinds}Hierarchy",
    "List {kinds} as a tree",
    "By name, on each level. One whose parent is not among those of `limit` stands at the top.",
    answer="EntityHierarchyList",
)


def _nested(nodes: list[dict[str, Any]], above: dict[str, str]) -> list[dict[str, Any]]:
    """The nodes that stand at the top, each with those below it; `above` is id -> parent's id."""
    by_id = {node["id"]: node for node in nodes}
    top = []
    for node in nodes:
        parent = by_id.get(above.get(node["id"], ""))
        if parent is None or len(names.split(node["fullyQualifiedName"])) > _MOST_LEVELS:
            top.append(node)
        else:
            parent.setdefault("children", []).append(node)
    return top
