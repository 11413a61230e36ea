"""The form that changes one key of an entity, and its page after a conflicting change."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse

from api.answers.responses import Finished
from api.callers.permissions import Access, Action
from api.callers.sign_in.sessions import Sessions
from api.declaring.declared_query import Parameters, query
from api.errors import Forbidden
from api.pages.entities import editable
from api.pages.entities.dependents import dependents_of_column
from api.pages.entities.entity_routes import (
    OF_ONE,
    REFUSALS,
    EntityPages,
    EntityRequest,
    change,
    kind_of,
    may_edit,
    needed,
    refusal,
)
from api.pages.frame.addresses import with_query
from api.pages.frame.rendering import AnyRequest, Renderer, html, redirect
from api.pages.frame.routing import form, page
from api.pages.search.suggesting import suggested
from api.paths.entity_pages import entity_address
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
routing.MOST_BYTES.
"""
_KEYS = tuple(field.key for field in editable.FIELDS)
_COLUMN = query(str, "Qualified name of a column in the entity.", "")
_EDIT: Parameters = {
    "field": query(str, f"One of {', '.join(_KEYS)}.", ...),
    "column": _COLUMN,
}
_CHOOSING: Parameters = {
    "add": query(str, "What was typed.", ""),
    "column": _COLUMN,
}
Given = str | list[editable.Item]
"""The value in a form: a text, or the items of a list."""


def edit_pages(
    services: Services, searcher: Searcher, sessions: Sessions, renderer: Renderer
) -> list[HTTPRouteHandler]:
    """The forms of single keys, where they are sent, and suggestions for their lists."""
    pages = EntityPages(services, renderer)

    def show(at: EntityRequest, field: str, column: str) -> dict[str, Any]:
        edited = field_named(at.kind, at.access, field, column)
        entity, tag = _read(at)
        return _values(at, entity, tag, edited, editable.place_in(at.kind, entity, column))

    async def take(request: AnyRequest, fields: dict[str, str]) -> ASGIResponse:
        at = pages.asked(request)
        kind = at.kind
        column = fields.get("column", "")
        edited = field_named(kind, at.access, needed(fields, "field"), column)
        tag, entity_id = needed(fields, "etag"), needed(fields, "id")
        given: Given = _plain(edited, fields.get("value", ""))
        added = fields.get("add", "").strip()
        if edited.is_list:
            given = editable.given_items(edited, kind, fields)

        def decide() -> tuple[Given, editable.FormTarget, bytes]:
            """The new value, its place, and the patch that sets it."""
            entity, _ = _read(at)
            if entity["id"] != entity_id:
                raise NotFound("another entity has this name by now: load the page again")
            place, wanted = editable.place_in(kind, entity, column), given
            if isinstance(wanted, list) and added:
                item = editable.named_item(edited, kind, services.catalog.store, added)
                wanted = [*dict.fromkeys((*wanted, item))]
            elif isinstance(wanted, str):
                there = place.holder.get(edited.key) or ""
                # What a form cannot hold as it is, such as spaces at its ends, is no change.
                wanted = there if _plain(edited, there) == wanted else wanted
            value = (
                editable.list_value(edited, place.holder, wanted)
                if isinstance(wanted, list)
                else wanted or None
            )
            return wanted, place, place.patch(edited.key, value)

        def again(at: EntityRequest, *, stale: bool = False) -> dict[str, Any]:
            entity, now = _read(at)
            place = editable.place_in(kind, entity, column)
            # Without a conflict the form stays one of the version that was seen.
            values = _values(at, entity, now if stale else tag, edited, place)
            if stale:
                seen = editable.read_seen(at, entity["id"], tag)
                values |= {"changed": [], "replaced": True}
                if seen is not None:
                    values["changed"] = editable.changed_keys(kind, seen, entity)
                    was = editable.place_in(kind, seen, column).holder.get(edited.key)
                    values["replaced"] = (was or None) != (place.holder.get(edited.key) or None)
            return values

        wanted = given
        try:
            wanted, place, patch = await services.heavy_read(request, decide)
            if fields.get("step") == "add":
                return await pages.answer(at, "edit", again, mine=wanted)
            plan = partial(plan_patch, services.catalog.planner, kind, entity_id)
            await change(at, plan, patch, tag)
        except StaleVersion:
            # The answer is a question, not an error, which a browser would log.
            return await pages.answer(at, "edit", partial(again, stale=True), mine=wanted)
        except REFUSALS as error:
            status, problem = refusal(error)
            # A name that was just refused is there to be mended.
            typed = added if wanted is given else ""
            return await pages.answer(
                at, "edit", again, status=status, mine=wanted, problem=problem, typed=typed
            )
        return redirect(place.link_to(kind.name, at.name, edited.key))

    async def choices(request: AnyRequest, add: str, column: str) -> Finished:
        kind, key = kind_of(request.scope), request.path_params["key"]
        edited = field_named(kind, request.auth, key, column)
        if not edited.is_list:
            raise NotFound(f"{key} is no list")
        visible = request.auth.kinds(Action.SEARCH)
        kinds = [each for each in edited.kinds(kind) if each in visible]
        options: list[dict[str, Any]] = []
        if kinds:
            index = ",".join(KINDS[each].index for each in kinds)
            fields = ("fullyQualifiedName", "entityType")
            options = await suggested(searcher, request, add, index, fields)
        several = len(edited.kinds(kind)) > 1
        return html(renderer.page(request, "choices.html", options=options, several=several))

    return [
        pages.page("edit", may_edit, show, _EDIT),
        form(f"/edit{OF_ONE}", may_edit, take, sessions),
        page("/choices/{kind:str}/{key:str}", may_edit, choices, _CHOOSING),
    ]


def field_named(kind: EntityKind, access: Access, key: str, column: str) -> editable.Field:
    """The field of a form, of an entity or a column of it.

    Raises InvalidInput, and Forbidden for a key that the caller may not edit.
    """
    if key not in _KEYS:
        raise InvalidInput(f"field must be one of {', '.join(_KEYS)}, got {shown(key)}")
    fields = editable.editable(kind, access, column)
    if key not in fields:
        raise Forbidden(f"you cannot edit {key} of {'columns of ' if column else ''}{kind.name}")
    return fields[key]


def _read(at: EntityRequest) -> tuple[dict[str, Any], str]:
    """A live entity as the caller sees it, and its ETag; raises NotFound."""
    entity, tag = at.decoded()
    if entity["deleted"]:
        raise NotFound(f"{at.kind.name} {at.name} is deleted: restore it before you change it")
    return entity, tag


def _plain(field: editable.Field, text: str) -> str:
    """A text as forms give it: lines that end in one way, and nothing around them.

    The spaces before a text of many lines stay, which make code of its first one in Markdown.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").rstrip()
    return lines.strip("\n") if field.sort == "text" else lines.strip()


def _values(
    at: EntityRequest,
    entity: Mapping[str, Any],
    tag: str,
    field: editable.Field,
    place: editable.FormTarget,
) -> dict[str, Any]:
    """The values of the form's template; `mine` is the text in the form, first the stored one."""
    kind, there = at.kind, place.holder
    theirs: Given = editable.items_of(field, there) if field.is_list else there.get(field.key) or ""
    if field.is_list and len(theirs) > _MOST_ITEMS:
        raise InvalidInput(
            f"there are {len(theirs)} {field.key}, more than a form holds: change them by the API"
        )
    if len(theirs) > _MOST_CHARACTERS:
        raise InvalidInput(
            f"the {field.key} has {len(theirs):,} characters, more than a form holds:"
            " change it by the API"
        )
    name = entity["fullyQualifiedName"]
    address = entity_address(kind.name, name, "edit")
    column = place.column or None
    others = editable.editable(kind, at.access, column) if column else ()
    forms = {
        key: with_query(address, {"field": key, "column": column}) for key in (field.key, *others)
    }
    return {
        # With the key, so that who must sign in again is led back to this form.
        "action": forms[field.key],
        "kind": kind.name,
        "entity": entity,
        "etag": tag,
        "field": field,
        "kinds": field.kinds(kind) if field.is_list else (),
        "theirs": theirs,
        "mine": theirs,
        "most": _MOST_CHARACTERS,
        "column": place.column,
        "dependents": dependents_of_column(at, column) if column else None,
        "column_forms": [(key, forms[key]) for key in others],
        "back": place.link_to(kind.name, name, field.key),
        "problem": None,
        "typed": "",
        "changed": None,
        "replaced": False,
    }
