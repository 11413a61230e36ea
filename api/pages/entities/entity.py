"""The page of an entity of any kind, its columns, and its JSON."""

from collections.abc import Generator, Iterable, Mapping
from typing import Any
from urllib.parse import quote

from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse

from api.answers.responses import JSON, LOOP_BYTES, Heavy
from api.callers.permissions import Action, Permission
from api.declaring.declared_query import Parameters, query
from api.pages.entities import columns, relations
from api.pages.entities.dependents import dependents_of
from api.pages.entities.editable import edit_address, editable, may_set_status, sees_all
from api.pages.entities.entity_routes import OF_ONE, EntityPages, EntityRequest, may_view
from api.pages.entities.picture import picture_beside
from api.pages.entities.pipeline_runs import pipeline_runs_of
from api.pages.entities.promises import IN_WORDS, agreement_with_contract, promises_of
from api.pages.entities.quality import runs_of, tests_of
from api.pages.frame.documents import formatted, json_lines, plain
from api.pages.frame.moments import DATE
from api.pages.frame.rendering import HEADERS, HTML, AnyRequest, Renderer
from api.pages.frame.routing import hidden_fields, page
from api.pages.lineage.walk import BESIDE
from api.paths.entity_pages import entity_address
from api.services import Services
from api.use_cases.reported_runs import newest_run
from domain.aggregate.entity import STATUS
from domain.aggregate.lifecycle import TRANSITIONS
from domain.errors import cut
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import CONTRACT, KINDS

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

    Nothing of a past is changed, and measurements have none. Blocks. Raises NotFound, and Purged
    for the past of an entity.
    """
    kind, access, is_now = at.kind, at.access, at.moment is None
    body, tag = at.read()
    entity = columns.decode(kind, body)
    address = at.address(entity["fullyQualifiedName"])
    live = is_now and not entity.get("deleted")
    may_delete = live and access.may(Permission(Action.DELETE, kind.name))
    tests = tests_of(at, entity) if is_now else None
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
                "named": at.moment.named if at.moment else {},
            }
            for key in columns.column_keys(kind, entity)
        ],
        "picture": picture_beside(at),
        "tests": tests,
        "runs": runs_of(at, entity) if is_now else None,
        "pipeline_runs": pipeline_runs_of(at, entity) if is_now else None,
        "related": [
            {**each, "agreement": agreement_with_contract(at, each) if is_now else None}
            for each in relations.related_lists(at, entity)
            if not (tests and each["kind"] == "testCase")
        ],
        "search_of": relations.search_of(at, entity),
        "editable": editable(kind, access) if live else {},
        "statuses": kind.statuses if live and may_set_status(kind, access) else (),
        "next_statuses": TRANSITIONS.get(entity.get(STATUS) or "", ()),
        "may_undo": live and sees_all(kind, access),
        "may_delete": may_delete,
        "dependents": dependents_of(at, bounds=BESIDE) if may_delete else None,
        "may_restore": is_now and not live and access.may(Permission(Action.EDIT, kind.name)),
        "promises": promises_of(at, entity),
        "tested": newest_run(at.services, access, entity) if is_now and kind is CONTRACT else None,
        "hides": {key for key in _HEAD if withheld is not None and withheld.covers(key)},
        "hidden_fields": hidden_fields(access, Action.VIEW, [kind.name]),
        "problem": None,
        **_facts(kind, entity, _in_words(at)),
    }


def entity_pages(services: Services, renderer: Renderer) -> list[HTTPRouteHandler]:
    """The page of each entity, and the JSON that it was made of."""
    pages = EntityPages(services, renderer)

    def answer(request: AnyRequest, chunks: Generator[bytes], sort: str, **more: str) -> Heavy:
        headers = {**HEADERS, **more}
        return services.stream(request, chunks, headers=headers, media_type=sort, compressible=True)

    async def show(
        request: AnyRequest,
        at: str | None,
        as_of: str | None,
        column: str,
        from_: int,
        all_: bool,
    ) -> ASGIResponse:
        asked = await pages.asked_as_of(request, at, as_of)

        def chunks() -> Generator[bytes]:
            values = entity_values(asked, column, from_, all_)
            values |= pages.date_values(asked, "entity")
            yield from renderer.chunks(request, "entity.html", **values)

        return answer(request, chunks(), HTML)

    async def raw(
        request: AnyRequest, at: str | None, as_of: str | None, download: bool
    ) -> ASGIResponse:
        asked = await pages.asked_as_of(request, at, as_of)
        # By RFC 6266 and 8187, with a name for those who know no other characters.
        named = quote(f"{asked.name[:100]}.json", safe="")
        file = f"{asked.kind.name}.json\"; filename*=UTF-8''{named}"
        saved = {"Content-Disposition": f'attachment; filename="{file}'} if download else {}

        def chunks() -> Generator[bytes]:
            shown = bytearray()
            for chunk in json_lines(asked.read()[0]):
                shown += chunk
                if len(shown) >= LOOP_BYTES:
                    yield bytes(shown)
                    shown.clear()
            yield bytes(shown)

        return answer(request, chunks(), JSON, **saved)

    return [
        page(f"/entity{OF_ONE}", may_view, show, {**_PARAMETERS, **DATE}),
        page(f"/raw{OF_ONE}", may_view, raw, {**_RAW, **DATE}),
    ]


def crumbs_of(kind: EntityKind, entity: Mapping[str, Any]) -> list[dict[str, str]]:
    """The entities above one, from the root down, as its references name them."""
    keys = reversed((*kind.parents, *kind.inherits))
    above = (reference for key in keys for reference in _references(entity.get(key)))
    return sorted(above, key=lambda each: len(each["fullyQualifiedName"]))


def _in_words(at: EntityRequest) -> frozenset[str]:
    """The keys of a contract of which its template makes sentences and tables."""
    if at.kind.agreement is None:
        return frozenset()
    # The table of tests that are expected has their last runs, which have no past.
    return IN_WORDS if at.moment is None else IN_WORDS - {"qualityExpectations"}


def _facts(kind: EntityKind, entity: Mapping[str, Any], in_words: Iterable[str]) -> dict[str, Any]:
    """The facts of the page's body beside columns, sorted by how they are shown.

    Keys `in_words` have other places. `facts` are single values, `links` lists of references,
    `nested` all other values, as JSON.
    """
    facts: list[tuple[str, Any]] = []
    links: list[tuple[str, list[dict[str, str]]]] = []
    nested: list[tuple[str, str]] = []
    shown = _HEAD.union(columns.column_keys(kind, entity), in_words)
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
