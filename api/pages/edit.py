"""The form that changes one key of an entity, and what it says when another was first."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

import msgspec
from litestar.handlers import HTTPRouteHandler
from litestar.params import PathParameter
from litestar.response.base import ASGIResponse

from api.errors import Forbidden
from api.pages.addresses import entity_address
from api.pages.changing import REFUSALS, change, changed_since, may_edit, needed, refusal
from api.pages.editable import (
    FIELDS,
    Field,
    Item,
    editable,
    given_items,
    items_of,
    list_value,
    named_item,
)
from api.pages.entity import kind_of, name_of, read_shown
from api.pages.rendering import AnyRequest, Renderer, html, redirect
from api.pages.routing import form, page
from api.pages.sessions import Sessions
from api.permissions import Access, Action
from api.responses import Finished
from api.routes.declared_query import Parameters, QueryParameter
from api.routes.entity_writes import plan_patch
from api.routes.searcher import Searcher
from api.routes.signatures import FQN
from api.services import Services
from domain.errors import InvalidInput, NotFound, StaleVersion, shown
from domain.kinds import EntityKind
from domain.references import StoredClaims
from domain.registry import KINDS
from projections.search.suggestions import SuggestRequest, suggest

_CHOICES = 8
_MOST_ITEMS = 150
"""Items of a list that a form holds, which has a field for each."""
_KEYS = tuple(field.key for field in FIELDS)
_EDIT: Parameters = {
    **FQN,
    "field": (Annotated[str, QueryParameter(description=f"One of {', '.join(_KEYS)}.")], ...),
}
_CHOOSING: Parameters = {
    "kind": (Annotated[str, PathParameter(description="Kind of entity.")], ...),
    "key": (Annotated[str, PathParameter(description="List that is added to.")], ...),
    "add": (Annotated[str, QueryParameter(description="What was typed.")], ""),
}
Given = str | list[Item]
"""What a form holds: a text, or what a list names."""


def edit_pages(
    services: Services, searcher: Searcher, sessions: Sessions, renderer: Renderer
) -> list[HTTPRouteHandler]:
    """The forms of single keys, where they are sent, and suggestions for their lists."""

    async def show(request: AnyRequest, fqn: str, field: str) -> ASGIResponse:
        kind, name = kind_of(request.scope), name_of(request, "edit")
        edited = field_named(kind, request.auth, field)

        def work() -> bytes:
            entity, tag = _read(services, request, kind, name)
            return _page(renderer, request, kind, entity, tag, edited)

        return html(await services.heavy_read(request, work))

    async def take(request: AnyRequest, fields: dict[str, str]) -> ASGIResponse:
        kind, name = kind_of(request.scope), name_of(request, "edit")
        edited = field_named(kind, request.auth, needed(fields, "field"))
        tag, entity_id = needed(fields, "etag"), needed(fields, "id")
        given: Given = fields.get("value", "").replace("\r\n", "\n").strip()
        added = fields.get("add", "").strip()
        if edited.sort in ("references", "tags"):
            given = given_items(edited, kind, fields)

        def decide() -> tuple[Given, bytes]:
            """What is to be there, and the patch that makes it so."""
            entity, _ = _read(services, request, kind, name)
            if entity["id"] != entity_id:
                raise NotFound("another entity has this name by now: load the page again")
            wanted = given
            if isinstance(wanted, list) and added:
                item = named_item(edited, kind, StoredClaims(services.catalog.store), added)
                wanted = [*dict.fromkeys((*wanted, item))]
            return wanted, _patch(edited, entity, wanted)

        def again(
            mine: Given, problem: str | None = None, typed: str = "", *, stale: bool = False
        ) -> bytes:
            entity, now = _read(services, request, kind, name)
            changed = changed_since(services, request, kind, entity, tag) if stale else None
            # Without a conflict the form stays one of the version that was seen.
            return _page(
                renderer,
                request,
                kind,
                entity,
                now if stale else tag,
                edited,
                mine=mine,
                problem=problem,
                typed=typed,
                changed=changed,
            )

        wanted = given
        try:
            wanted, patch = await services.heavy_read(request, decide)
            if fields.get("step") == "add":
                return html(await services.heavy_read(request, partial(again, wanted)))
            plan = partial(plan_patch, services.catalog.planner, kind, entity_id)
            await change(services, request, plan, patch, tag)
        except StaleVersion:
            # A question, and no failure: a browser would log one.
            shown_again = partial(again, wanted, stale=True)
            return html(await services.heavy_read(request, shown_again))
        except REFUSALS as error:
            status, problem = refusal(error)
            # A name that was just refused is there to be mended.
            typed = added if wanted is given else ""
            shown_again = partial(again, wanted, problem, typed)
            return html(await services.heavy_read(request, shown_again), status=status)
        return redirect(f"{entity_address(kind.name, name)}#edit-{edited.key}")

    async def choices(request: AnyRequest, kind: str, key: str, add: str) -> Finished:
        row = kind_of(request.scope)
        edited = field_named(row, request.auth, key)
        if edited.sort not in ("references", "tags"):
            raise NotFound(f"{key} is no list")
        visible = request.auth.kinds(Action.SEARCH)
        kinds = [each for each in edited.kinds(row) if each in visible]
        options = []
        if kinds:
            asked = SuggestRequest(
                q=add,
                index=",".join(KINDS[each].index for each in kinds),
                size=_CHOICES,
                include_source_fields=("fullyQualifiedName", "entityType"),
            )
            answer = await searcher.ask(request, asked.index, partial(suggest, asked))
            (entry,) = msgspec.json.decode(answer.body)["suggest"]["metadata-suggest"]
            options = entry["options"]
        return html(renderer.page(request, "choices.html", options=options))

    return [
        page("/edit/{kind:str}/{fqn:path}", may_edit, show, _EDIT),
        form("/edit/{kind:str}/{fqn:path}", may_edit, take, sessions),
        page("/choices/{kind:str}/{key:str}", may_edit, choices, _CHOOSING),
    ]


def field_named(kind: EntityKind, access: Access, key: str) -> Field:
    """The field of a form; raises InvalidInput, and Forbidden for what the caller may not edit."""
    if key not in _KEYS:
        raise InvalidInput(f"field must be one of {', '.join(_KEYS)}, got {shown(key)}")
    field = editable(kind, access).get(key)
    if field is None:
        raise Forbidden(f"you cannot edit {key} of {kind.name}")
    return field


def _read(
    services: Services, request: AnyRequest, kind: EntityKind, name: str
) -> tuple[dict[str, Any], str]:
    """A live entity as the caller sees it, and its ETag; raises NotFound."""
    body, tag = read_shown(services, request, kind, name)
    entity = msgspec.json.decode(body, type=dict[str, Any])
    if entity.get("deleted"):
        raise NotFound(f"{kind.name} {name} is deleted: restore it before you change it")
    return entity, tag


def _patch(field: Field, entity: Mapping[str, Any], wanted: Given) -> bytes:
    value = list_value(field, entity, wanted) if isinstance(wanted, list) else wanted or None
    return msgspec.json.encode([{"op": "add", "path": f"/{field.key}", "value": value}])


def _page(
    renderer: Renderer,
    request: AnyRequest,
    kind: EntityKind,
    entity: Mapping[str, Any],
    tag: str,
    field: Field,
    **more: Any,
) -> bytes:
    """The form: `mine` is what it holds, unless that is what is there."""
    is_list = field.sort in ("references", "tags")
    theirs: Given = items_of(field, entity) if is_list else entity.get(field.key) or ""
    if is_list and len(theirs) > _MOST_ITEMS:
        raise InvalidInput(
            f"there are {len(theirs)} {field.key}, more than a form holds: change them by the API"
        )
    values = {"mine": theirs, "problem": None, "typed": "", "changed": None, **more}
    return renderer.page(
        request,
        "edit.html",
        kind=kind.name,
        entity=entity,
        etag=tag,
        field=field,
        kinds=field.kinds(kind) if is_list else (),
        theirs=theirs,
        **values,
    )
