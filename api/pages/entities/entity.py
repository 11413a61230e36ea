"""The page of an entity of any kind, its columns, and its JSON."""

from collections.abc import Generator, Mapping
from typing import Any
from urllib.parse import quote

from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse

from api.answers.responses import JSON, LOOP_BYTES, Heavy
from api.callers.permissions import Action, Permission
from api.declaring.declared_query import Parameters, query
from api.pages.entities import columns, relations
from api.pages.entities.editable import edit_address, editable, may_set_status, sees_all
from api.pages.entities.entity_routes import OF_ONE, EntityPages, EntityRequest, may_view
from api.pages.entities.promises import IN_WORDS, agreement_with_contract, promises_of
from api.pages.entities.quality import runs_of, tests_of
from api.pages.frame.documents import cut, formatted, json_lines, plain
from api.pages.frame.rendering import HEADERS, HTML, AnyRequest, Renderer
from api.pages.frame.routing import hidden_fields, page
from api.paths.entity_pages import entity_address
from api.services import Services
from api.use_cases.documents import CONTRACT
from api.use_cases.reported_runs import newest_run
from domain.aggregate.entity import STATUS
from domain.aggregate.lifecycle import TRANSITIONS
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import KINDS

_HEAD = frozenset(
    [
        "id",
        "name",
        "displayName",
        "fullyQualifiedName",
        "description",
        "version",
        "updatedAt",
        "updatedBy",
        "deleted",
        "href",
        "owners",
        "domains",
        "tags",
        "entityStatus",
    ]
)
"""Keys that the head of the page shows."""
MOST_JSON = 100_000
"""Characters of the JSON that is shown of one key."""
_PARAMETERS: Parameters = {
    "column": query(str, "Only columns with this text.", ""),
    "from_": query(int, "Columns to pass over.", 0, name="from", ge=0),
    "all_": query(bool, "Show every column.", False, name="all"),
}
_RAW: Parameters = {"download": query(bool, "Have it saved as a file.", False)}


def entity_values(
    at: EntityRequest, column: str = "", from_: int = 0, all_: bool = False
) -> dict[str, Any]:
    """The values of the template of an entity's page, as its caller may see it.

    Blocks. Raises NotFound.
    """
    kind, access = at.kind, at.access
    body, tag = at.read()
    entity = columns.decode(kind, body)
    address = entity_address(kind.name, entity["fullyQualifiedName"])
    live = not entity.get("deleted")
    tests = tests_of(at, entity)
    withheld = access.withheld(Action.VIEW, kind.name)
    return {
        "kind": kind.name,
        "collection": kind.collection,
        "entity": entity,
        "etag": tag,
        "crumbs": crumbs_of(kind, entity),
        "parts": [
            {
                **columns.column_table(key, entity, address, column, from_, all_),
                "edit": edit_address(kind, access, entity, key) if live else None,
            }
            for key in columns.column_keys(kind, entity)
        ],
        "tests": tests,
        "runs": runs_of(at, entity),
        "related": [
            {**each, "agreement": agreement_with_contract(at, each)}
            for each in relations.related_lists(at, entity)
            if not (tests and each["kind"] == "testCase")
        ],
        "search_of": relations.search_of(kind, entity),
        "editable": editable(kind, access) if live else {},
        "statuses": kind.statuses if live and may_set_status(kind, access) else (),
        "next_statuses": TRANSITIONS.get(entity.get(STATUS) or "", ()),
        "may_undo": live and sees_all(kind, access),
        "may_delete": live and access.may(Permission(Action.DELETE, kind.name)),
        "may_restore": not live and access.may(Permission(Action.EDIT, kind.name)),
        "promises": promises_of(at, entity),
        "tested": newest_run(at.services, access, entity) if kind is CONTRACT else None,
        "hides": {key for key in _HEAD if withheld is not None and withheld.covers(key)},
        "hidden_fields": hidden_fields(access, Action.VIEW, [kind.name]),
        "problem": None,
        **_facts(kind, entity),
    }


def entity_pages(services: Services, renderer: Renderer) -> list[HTTPRouteHandler]:
    """The page of each entity, and the JSON that it was made of."""
    pages = EntityPages(services, renderer)

    def answer(request: AnyRequest, chunks: Generator[bytes], sort: str, **more: str) -> Heavy:
        headers = {**HEADERS, **more}
        return services.stream(request, chunks, headers=headers, media_type=sort, compressible=True)

    async def show(request: AnyRequest, column: str, from_: int, all_: bool) -> ASGIResponse:
        at = pages.asked(request)

        def chunks() -> Generator[bytes]:
            values = entity_values(at, column, from_, all_)
            yield from renderer.chunks(request, "entity.html", **values)

        return answer(request, chunks(), HTML)

    async def raw(request: AnyRequest, download: bool) -> ASGIResponse:
        at = pages.asked(request)
        # By RFC 6266 and 8187, with a name for those who know no other characters.
        file = f"{at.kind.name}.json\"; filename*=UTF-8''{quote(f'{at.name[:100]}.json', safe='')}"
        saved = {"Content-Disposition": f'attachment; filename="{file}'} if download else {}

        def chunks() -> Generator[bytes]:
            shown = bytearray()
            for chunk in json_lines(at.read()[0]):
                shown += chunk
                if len(shown) >= LOOP_BYTES:
                    yield bytes(shown)
                    shown.clear()
            yield bytes(shown)

        return answer(request, chunks(), JSON, **saved)

    return [
        page(f"/entity{OF_ONE}", may_view, show, _PARAMETERS),
        page(f"/raw{OF_ONE}", may_view, raw, _RAW),
    ]


def crumbs_of(kind: EntityKind, entity: Mapping[str, Any]) -> list[dict[str, str]]:
    """The entities above one, from the root down, as its references name them."""
    keys = reversed((*kind.parents, *kind.inherits))
    above = (reference for key in keys for reference in _references(entity.get(key)))
    return sorted(above, key=lambda each: len(each["fullyQualifiedName"]))


def _facts(kind: EntityKind, entity: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of the page's body beside columns, sorted by how they are shown.

    `facts` are single values, `links` lists of references, `nested` all other values, as JSON.
    """
    facts: list[tuple[str, Any]] = []
    links: list[tuple[str, list[dict[str, str]]]] = []
    nested: list[tuple[str, str]] = []
    shown = _HEAD.union(columns.column_keys(kind, entity), IN_WORDS if kind.agreement else ())
    for key, value in entity.items():
        if key in shown or value in (None, [], {}, ""):
            continue
        if references := _references(value):
            links.append((key, references))
        elif (text := plain(value)) is not None:
            facts.append((key, text))
        else:
            nested.append((key, cut(formatted(value, MOST_JSON + 1), MOST_JSON)))
    return {"facts": facts, "links": links, "nested": nested}


def _references(value: Any) -> list[dict[str, str]]:
    """The references that a value is, or is a list of; none where it is anything else."""
    values = value if isinstance(value, list) else [value]
    if not all(
        isinstance(each, dict) and each.get("type") in KINDS and "fullyQualifiedName" in each
        for each in values
    ):
        return []
    return [
        {**each, "address": entity_address(each["type"], each["fullyQualifiedName"])}
        for each in values
    ]
