"""The form that changes one key of an entity, and its page after a conflicting change."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

import msgspec
from litestar.handlers import HTTPRouteHandler
from litestar.params import PathParameter
from litestar.response.base import ASGIResponse

from api.answers.responses import Finished
from api.callers.permissions import Access, Action
from api.callers.sign_in.sessions import Sessions
from api.declaring.declared_query import Parameters, QueryParameter
from api.declaring.signatures import FQN
from api.errors import Forbidden
from api.pages.entities.changing import (
    REFUSALS,
    change,
    changed_keys,
    may_edit,
    needed,
    read_seen,
    refusal,
)
from api.pages.entities.editable import (
    FIELDS,
    Field,
    Item,
    column_editable,
    editable,
    given_items,
    items_of,
    list_value,
    named_item,
)
from api.pages.entities.entity import kind_of, name_of, read_shown
from api.pages.entities.places import FormTarget, place_in
from api.pages.frame.addresses import entity_address, with_query
from api.pages.frame.documents import complete
from api.pages.frame.rendering import AnyRequest, Renderer, html, redirect
from api.pages.frame.routing import form, page
from api.pages.search.suggesting import suggested
from api.services import Services
from api.use_cases.entity_writes import plan_patch
from api.use_cases.searcher import Searcher
from domain.errors import InvalidInput, NotFound, StaleVersion, shown
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import KINDS

_MOST_ITEMS = 150
"""Items of a list that a form holds, which has a field for each."""
_MOST_CHARACTERS = 50_000
"""Most characters of a text in a form; a browser sends each as up to nine bytes, see
forms.MOST_BYTES.
"""
_KEYS = tuple(field.key for field in FIELDS)
_COLUMN: Any = (
    Annotated[str, QueryParameter(description="Qualified name of a column in the entity.")],
    "",
)
_EDIT: Parameters = {
    **FQN,
    "field": (Annotated[str, QueryParameter(description=f"One of {', '.join(_KEYS)}.")], ...),
    "column": _COLUMN,
}
_CHOOSING: Parameters = {
    "kind": (Annotated[str, PathParameter(description="Kind of entity.")], ...),
    "key": (Annotated[str, PathParameter(description="List that is added to.")], ...),
    "add": (Annotated[str, QueryParameter(description="What was typed.")], ""),
    "column": _COLUMN,
}
Given = str | list[Item]
"""The value in a form: a text, or the items of a list."""


def edit_pages(
    services: Services, searcher: Searcher, sessions: Sessions, renderer: Renderer
) -> list[HTTPRouteHandler]:
    """The forms of single keys, where they are sent, and suggestions for their lists."""

    async def show(request: AnyRequest, fqn: str, field: str, column: str) -> ASGIResponse:
        kind, name = kind_of(request.scope), name_of(request, "edit")
        edited = field_named(kind, request.auth, field, column)

        def work() -> bytes:
            entity, tag = _read(services, request, kind, name)
            place = place_in(kind, entity, column)
            return _page(renderer, request, kind, entity, tag, edited, place)

        return html(await services.heavy_read(request, work))

    async def take(request: AnyRequest, fields: dict[str, str]) -> ASGIResponse:
        kind, name = kind_of(request.scope), name_of(request, "edit")
        column = fields.get("column", "")
        edited = field_named(kind, request.auth, needed(fields, "field"), column)
        tag, entity_id = needed(fields, "etag"), needed(fields, "id")
        given: Given = _plain(edited, fields.get("value", ""))
        added = fields.get("add", "").strip()
        if edited.sort in ("references", "tags"):
            given = given_items(edited, kind, fields)

        def decide() -> tuple[Given, FormTarget, bytes]:
            """The new value, its place, and the patch that sets it."""
            entity, _ = _read(services, request, kind, name)
            if entity["id"] != entity_id:
                raise NotFound("another entity has this name by now: load the page again")
            place, wanted = place_in(kind, entity, column), given
            if isinstance(wanted, list) and added:
                item = named_item(edited, kind, services.catalog.store, added)
                wanted = [*dict.fromkeys((*wanted, item))]
            elif isinstance(wanted, str):
                there = place.holder.get(edited.key) or ""
                # What a form cannot hold as it is, such as spaces at its ends, is no change.
                wanted = there if _plain(edited, there) == wanted else wanted
            return wanted, place, place.patch(edited.key, _value(edited, place, wanted))

        def again(
            mine: Given, problem: str | None = None, typed: str = "", *, stale: bool = False
        ) -> bytes:
            entity, now = _read(services, request, kind, name)
            place = place_in(kind, entity, column)
            seen = read_seen(services, request, kind, entity["id"], tag) if stale else entity
            changed, replaced = list[str](), True
            if seen is not None:
                changed = changed_keys(kind, seen, entity)
                was = place_in(kind, seen, column).holder.get(edited.key)
                replaced = (was or None) != (place.holder.get(edited.key) or None)
            # Without a conflict the form stays one of the version that was seen.
            return _page(
                renderer,
                request,
                kind,
                entity,
                now if stale else tag,
                edited,
                place,
                mine=mine,
                problem=problem,
                typed=typed,
                changed=changed if stale else None,
                replaced=replaced,
            )

        wanted = given
        try:
            wanted, place, patch = await services.heavy_read(request, decide)
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
        return redirect(place.link_to(kind.name, name, edited.key))

    async def choices(request: AnyRequest, kind: str, key: str, add: str, column: str) -> Finished:
        row = kind_of(request.scope)
        edited = field_named(row, request.auth, key, column)
        if edited.sort not in ("references", "tags"):
            raise NotFound(f"{key} is no list")
        visible = request.auth.kinds(Action.SEARCH)
        kinds = [each for each in edited.kinds(row) if each in visible]
        options: list[dict[str, Any]] = []
        if kinds:
            index = ",".join(KINDS[each].index for each in kinds)
            fields = ("fullyQualifiedName", "entityType")
            options = await suggested(searcher, request, add, index, fields)
        several = len(edited.kinds(row)) > 1
        return html(renderer.page(request, "choices.html", options=options, several=several))

    return [
        page("/edit/{kind:str}/{fqn:path}", may_edit, show, _EDIT),
        form("/edit/{kind:str}/{fqn:path}", may_edit, take, sessions),
        page("/choices/{kind:str}/{key:str}", may_edit, choices, _CHOOSING),
    ]


def field_named(kind: EntityKind, access: Access, key: str, column: str) -> Field:
    """The field of a form, of an entity or a column of it.

    Raises InvalidInput, and Forbidden for a key that the caller may not edit.
    """
    if key not in _KEYS:
        raise InvalidInput(f"field must be one of {', '.join(_KEYS)}, got {shown(key)}")
    fields = column_editable(kind, access) if column else editable(kind, access)
    if key not in fields:
        raise Forbidden(f"you cannot edit {key} of {'columns of ' if column else ''}{kind.name}")
    return fields[key]


def _read(
    services: Services, request: AnyRequest, kind: EntityKind, name: str
) -> tuple[dict[str, Any], str]:
    """A live entity as the caller sees it, and its ETag; raises NotFound."""
    body, tag = read_shown(services, request, kind, name)
    entity = complete(msgspec.json.decode(body))
    if entity["deleted"]:
        raise NotFound(f"{kind.name} {name} is deleted: restore it before you change it")
    return entity, tag


def _plain(field: Field, text: str) -> str:
    """A text as forms give it: lines that end in one way, and nothing around them.

    The spaces before a text of many lines stay, which make code of its first one in Markdown.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").rstrip()
    return lines.strip("\n") if field.sort == "text" else lines.strip()


def _value(field: Field, place: FormTarget, wanted: Given) -> Any:
    """The value of a patch for the value in a form."""
    return list_value(field, place.holder, wanted) if isinstance(wanted, list) else wanted or None


def _page(
    renderer: Renderer,
    request: AnyRequest,
    kind: EntityKind,
    entity: Mapping[str, Any],
    tag: str,
    field: Field,
    place: FormTarget,
    **more: Any,
) -> bytes:
    """The form: `mine` is its text, unless that is the stored one."""
    is_list = field.sort in ("references", "tags")
    theirs: Given = items_of(field, place.holder) if is_list else place.holder.get(field.key) or ""
    if is_list and len(theirs) > _MOST_ITEMS:
        raise InvalidInput(
            f"there are {len(theirs)} {field.key}, more than a form holds: change them by the API"
        )
    if len(theirs) > _MOST_CHARACTERS:
        raise InvalidInput(
            f"the {field.key} has {len(theirs):,} characters, more than a form holds:"
            " change it by the API"
        )
    values = {"mine": theirs, "problem": None, "typed": "", "changed": None, "replaced": False}
    name = entity["fullyQualifiedName"]
    return renderer.page(
        request,
        "edit.html",
        # With the key, so that who must sign in again is led back to this form.
        action=with_query(
            entity_address(kind.name, name, "edit"),
            {"field": field.key, "column": place.column or None},
        ),
        kind=kind.name,
        entity=entity,
        etag=tag,
        field=field,
        kinds=field.kinds(kind) if is_list else (),
        theirs=theirs,
        most=_MOST_CHARACTERS,
        column=place.column,
        column_forms=_column_forms(kind, request.auth, name, place),
        back=place.link_to(kind.name, name, field.key),
        **values | more,
    )


def _column_forms(
    kind: EntityKind, access: Access, fqn: str, place: FormTarget
) -> list[tuple[str, str]]:
    """Each key of a column that has a form, and the address of the form."""
    if not place.column:
        return []
    address = entity_address(kind.name, fqn, "edit")
    return [
        (key, with_query(address, {"field": key, "column": place.column}))
        for key in column_editable(kind, access)
    ]
