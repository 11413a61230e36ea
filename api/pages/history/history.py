"""The history of an entity: each version with its author, and two versions side by side."""

from collections.abc import Mapping
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Annotated, Any

import msgspec
from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse

from api.callers.permissions import Access, Action
from api.declaring.declared_query import Parameters, QueryParameter
from api.declaring.signatures import FQN
from api.pages.entities.entity import kind_of, may_view, name_of
from api.pages.frame.addresses import entity_address, with_query
from api.pages.frame.rendering import AnyRequest, Renderer, html
from api.pages.frame.routing import page
from api.pages.frame.withheld import hidden_fields
from api.pages.history import comparison
from api.services import Services
from api.use_cases.entity_reads import read_entity
from domain.aggregate.entity import Entity
from domain.errors import NotFound
from domain.kinds.entity_kind import EntityKind
from domain.reading import history as history_of
from domain.reading import timeline
from projections.entities.port import Include
from projections.visibility.withholding import Withheld

STEPS_SHOWN = 25
"""Versions of one page."""
CHANGES_SHOWN = 6
"""Most changes of one version in its line."""
_MOST_VALUE = 60
"""Most characters of a value in a line."""
_KEYS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_SORTS = {"added": "added", "updated": "changed", "deleted": "removed"}
_EVENTS = {
    "entity.created": "created",
    "entity.soft-deleted": "deleted",
    "entity.restored": "restored",
}
_HISTORY: Parameters = {
    **FQN,
    "before": (
        Annotated[int | None, QueryParameter(ge=1, description="Only what was before this.")],
        None,
    ),
}
_COMPARED: Parameters = {
    **FQN,
    "from_": (
        Annotated[str, QueryParameter(name="from", description="The older version.")],
        "",
    ),
    "to": (Annotated[str, QueryParameter(description="The newer version.")], ""),
    "start": (Annotated[int, QueryParameter(ge=0, description="Rows to pass over.")], 0),
}


class Head(msgspec.Struct, rename="camel"):
    """The entity's data at the head of both pages."""

    id: str
    name: str
    fully_qualified_name: str
    version: msgspec.Raw
    display_name: str = ""


class ShownChange(msgspec.Struct, frozen=True):
    """A change as the line of a version shows it."""

    what: str
    how: str
    old: str | None = None
    new: str | None = None


def history_pages(services: Services, renderer: Renderer) -> list[HTTPRouteHandler]:
    """The timeline of an entity, and the comparison of two of its versions."""

    async def history(request: AnyRequest, fqn: str, before: int | None) -> ASGIResponse:
        kind, name = kind_of(request.scope), name_of(request, "history")

        def work() -> bytes:
            head = _head(services, request.auth, kind, name)
            withheld = request.auth.withheld(Action.VIEW, kind.name)
            steps = timeline.read_steps(
                services.stores.log,
                head.id,
                partial(_change_shown, withheld),
                limit=STEPS_SHOWN,
                before=before,
            )
            address = entity_address(kind.name, head.fully_qualified_name, "history")
            earlier = steps and steps[-1].stream_version > 1
            return renderer.page(
                request,
                "history.html",
                kind=kind.name,
                entity=head,
                steps=[_line(step, withheld) for step in steps],
                first=address if before else None,
                hidden_fields=hidden_fields(request.auth, Action.VIEW, [kind.name]),
                earlier=with_query(address, {"before": str(steps[-1].stream_version)})
                if earlier
                else None,
            )

        return html(await services.heavy_read(request, work))

    async def compared(
        request: AnyRequest, fqn: str, from_: str, to: str, start: int
    ) -> ASGIResponse:
        kind, name = kind_of(request.scope), name_of(request, "compare")

        def work() -> bytes:
            head = _head(services, request.auth, kind, name)
            newest = bytes(head.version).decode()
            wanted = (from_ or newest, to or newest)
            revisions = history_of.at_versions(services.stores.log, head.id, wanted)
            for version in wanted:
                if version not in revisions:
                    raise NotFound(f"{kind.name} {name} never had a version {version[:40]!r}")
            withheld = request.auth.withheld(Action.VIEW, kind.name)
            old, new = (_document(revisions[version].entity, withheld) for version in wanted)
            rows, total, following = comparison.page_of(comparison.compare(old, new), start)
            address = entity_address(kind.name, head.fully_qualified_name, "compare")
            kept: dict[str, str | None] = {"from": wanted[0], "to": wanted[1]}
            return renderer.page(
                request,
                "compare.html",
                kind=kind.name,
                entity=head,
                versions=list(zip(wanted, map(_write, (old, new)), strict=True)),
                groups=[(key, list(group)) for key, group in groupby(rows, attrgetter("key"))],
                total=total,
                alike=comparison.alike(old, new),
                first=with_query(address, kept) if start else None,
                next=with_query(address, kept | {"start": str(following)}) if following else None,
                hidden_fields=hidden_fields(request.auth, Action.VIEW, [kind.name]),
                turned_around=with_query(address, {"from": wanted[1], "to": wanted[0]}),
            )

        return html(await services.heavy_read(request, work))

    return [
        page("/history/{kind:str}/{fqn:path}", may_view, history, _HISTORY),
        page("/compare/{kind:str}/{fqn:path}", may_view, compared, _COMPARED),
    ]


def _head(services: Services, access: Access, kind: EntityKind, fqn: str) -> Head:
    """The head of the entity with a name; raises NotFound."""
    given = {"fields": None, "include": Include.ALL}
    body, _ = read_entity(services, kind, access, given, None, fqn=fqn)
    return msgspec.json.decode(body, type=Head)


def _write(document: Mapping[str, msgspec.Raw]) -> dict[str, Any]:
    """The time and author of a version, as far as the caller may see them."""
    keys = ("updatedAt", "updatedBy")
    return {key: msgspec.json.decode(document[key]) for key in keys if key in document}


def _document(version: Entity, withheld: Withheld | None) -> dict[str, msgspec.Raw]:
    """The keys of a version as the caller may see it."""
    shown = {
        **version.body,
        "updatedAt": version.updated_at,
        "updatedBy": version.updated_by,
        **({"deleted": True} if version.deleted else {}),
    }
    encoded = msgspec.json.encode(shown)
    return _KEYS.decode(withheld.cut(encoded) if withheld else encoded)


def _line(step: timeline.Step[ShownChange], withheld: Withheld | None) -> dict[str, Any]:
    """A version in the timeline, without withheld fields."""
    seen = {
        key: None if withheld is not None and withheld.covers(field) else value
        for key, field, value in (
            ("at", "updatedAt", step.at),
            ("actor", "updatedBy", step.actor),
        )
    }
    return {
        **seen,
        "version": step.version,
        "request_id": step.request_id,
        "events": [_EVENTS[each] for each in step.event_types if each in _EVENTS],
        "changes": step.changes[:CHANGES_SHOWN],
        "more": max(0, len(step.changes) - CHANGES_SHOWN),
    }


def _change_shown(withheld: Withheld | None, change: timeline.Change) -> ShownChange | None:
    """A change for its line; None for one that is withheld from the caller."""
    if withheld is not None and _is_hidden(withheld, change):
        return None
    steps = [text for path, text in change.steps if withheld is None or not withheld.covers(path)]
    old, new = _value(change.old), _value(change.new)
    plain = change.sort == "updated" and old is not None and new is not None
    return ShownChange(
        " · ".join(steps), _SORTS[change.sort], old if plain else None, new if plain else None
    )


def _is_hidden(withheld: Withheld, change: timeline.Change) -> bool:
    """True if all that a change changes is withheld."""
    if withheld.covers(".".join(change.keys)):
        return True
    if change.sort != "updated":
        return False
    shown = []
    for value in (change.old, change.new):
        whole: Any = value
        for key in reversed(change.keys):
            whole = {key: whole}
        shown.append(withheld.cut(msgspec.json.encode(whole)))
    return shown[0] == shown[1]


def _value(value: Any) -> str | None:
    """A single value that is short enough for a line."""
    if isinstance(value, Mapping | list) or value is None:
        return None
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= _MOST_VALUE else None
