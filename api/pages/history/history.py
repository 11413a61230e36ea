"""The history of an entity: each version with its author, and two versions side by side."""

from collections.abc import Mapping
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any

import msgspec
from litestar.handlers import HTTPRouteHandler

from api.callers.permissions import Action
from api.declaring.declared_query import Parameters, query
from api.pages.entities.entity_routes import EntityPages, EntityRequest, may_view
from api.pages.frame.addresses import with_query
from api.pages.frame.rendering import Renderer
from api.pages.frame.routing import hidden_fields
from api.pages.history import comparison
from api.services import Services
from api.use_cases.seen_changes import is_withheld
from domain.errors import NotFound
from domain.events import values_by_key
from domain.reading import changes, timeline
from domain.reading.history import as_of
from projections.visibility.withholding import Withheld

STEPS_SHOWN = 25
"""Versions of one page."""
CHANGES_SHOWN = 6
"""Most changes of one version in its line."""
_MOST_VALUE = 60
"""Most characters of a value in a line."""
SORTS: Mapping[str, str] = {"added": "added", "updated": "changed", "deleted": "removed"}
"""Sort of a change of a field -> word for it."""
_WRITTEN = ("updatedAt", "updatedBy")
"""Keys of the time and the author of a version."""
_HISTORY: Parameters = {
    "before": query(int, "Only what was before this.", ge=1),
}
_COMPARED: Parameters = {
    "from_": query(str, "The older version.", "", name="from"),
    "to": query(str, "The newer version.", ""),
    "start": query(int, "Rows to pass over.", 0, ge=0),
}


def history_pages(services: Services, renderer: Renderer) -> list[HTTPRouteHandler]:
    """The timeline of an entity, and the comparison of two of its versions."""

    def read(at: EntityRequest) -> dict[str, Any]:
        """Read the part that both pages show: the head of the entity, and its withheld fields."""
        entity, _ = at.decoded(None)
        hidden = hidden_fields(at.access, Action.VIEW, [at.kind.name])
        return {"kind": at.kind.name, "entity": entity, "hidden_fields": hidden}

    def history(at: EntityRequest, before: int | None) -> dict[str, Any]:
        head = read(at)
        withheld = at.access.withheld(Action.VIEW, at.kind.name)
        steps = timeline.read_steps(
            services.stores.log,
            head["entity"]["id"],
            partial(_change_shown, withheld),
            limit=STEPS_SHOWN,
            before=_earlier(at, head["entity"], before),
        )
        address = at.address(head["entity"]["fullyQualifiedName"], "history")
        last = steps[-1].stream_version if steps else 1
        return head | {
            "steps": steps,
            "most": CHANGES_SHOWN,
            "hides": [key for key in _WRITTEN if withheld is not None and withheld.covers(key)],
            "first": address if before else None,
            "earlier": with_query(address, {"before": str(last)}) if last > 1 else None,
            "graded": _graded(at, head["entity"]),
        }

    def compared(at: EntityRequest, from_: str, to: str, start: int) -> dict[str, Any]:
        head = read(at)
        newest = f"{head['entity']['version']:.1f}"
        wanted = (from_ or newest, to or newest)
        bodies = timeline.read_versions(services.stores.log, head["entity"]["id"], wanted)
        then = head["entity"]["version"]
        for version in wanted:
            # Texts of versions that the entity has had are numbers.
            if version not in bodies or float(version) > then:
                raise NotFound(f"{at.kind.name} {at.name} never had a version {version[:40]!r}")
        withheld = at.access.withheld(Action.VIEW, at.kind.name)
        old, new = (_document(bodies[version], withheld) for version in wanted)
        rows, total, following = comparison.page_of(comparison.compare(old, new), start)
        address = at.address(head["entity"]["fullyQualifiedName"], "compare")
        kept: dict[str, str | None] = {"from": wanted[0], "to": wanted[1]}
        graded = _graded(at, head["entity"])
        return head | {
            "versions": [
                # The time and author, as far as the caller may see them.
                (version, {key: msgspec.json.decode(of[key]) for key in _WRITTEN if key in of})
                for version, of in zip(wanted, (old, new), strict=True)
            ],
            "groups": [(key, list(group)) for key, group in groupby(rows, attrgetter("key"))],
            "total": total,
            "alike": comparison.alike(old, new),
            "first": with_query(address, kept) if start else None,
            "next": with_query(address, kept | {"start": str(following)}) if following else None,
            "turned_around": with_query(address, {"from": wanted[1], "to": wanted[0]}),
            "graded": graded and with_query(graded, kept),
        }

    pages = EntityPages(services, renderer)
    return [
        pages.page("history", may_view, history, _HISTORY, has_past=True),
        pages.page("compare", may_view, compared, _COMPARED, has_past=True),
    ]


def _earlier(at: EntityRequest, entity: Mapping[str, Any], before: int | None) -> int | None:
    """The stream version before which a page shows versions: a bound given, and its moment's."""
    if at.moment is None:
        return before
    log, position = at.services.stores.log, at.moment.position
    then, _ = as_of(log, at.kind, entity["id"], position)
    return min(then.stream_version + 1, before or then.stream_version + 1)


def _graded(at: EntityRequest, entity: Mapping[str, Any]) -> str | None:
    """The page that grades changes, as of the moment of this one.

    None but for a live contract of which nothing is withheld.
    """
    withheld = at.access.withheld(Action.VIEW, at.kind.name)
    if at.kind.agreement is None or withheld or entity.get("deleted"):
        return None
    return at.address(entity["fullyQualifiedName"], "impact")


def _document(version: timeline.VersionBody, withheld: Withheld | None) -> dict[str, msgspec.Raw]:
    """The keys of a version as the caller may see it."""
    shown = {
        **version.body,
        "updatedAt": version.at,
        "updatedBy": version.actor,
        **({"deleted": True} if version.deleted else {}),
    }
    encoded = msgspec.json.encode(shown)
    return values_by_key(withheld.cut(encoded) if withheld else encoded)


def _change_shown(
    withheld: Withheld | None, change: timeline.TimelineChange
) -> dict[str, Any] | None:
    """A change for its line; None for one that is withheld from the caller."""
    if withheld is not None and is_withheld(withheld, change):
        return None
    steps = [text for path, text in change.steps if withheld is None or not withheld.covers(path)]
    return line_of(" · ".join(steps), change)


def line_of(
    what: str, change: timeline.TimelineChange | changes.FieldDifference
) -> dict[str, str | None]:
    """The line of a change; both values stand there where they are short."""
    old, new = short_value(change.old), short_value(change.new)
    plain = change.sort == "updated" and old is not None and new is not None
    values = {"old": old, "new": new} if plain else {"old": None, "new": None}
    return {"what": what, "how": SORTS[change.sort], **values}


def short_value(value: Any) -> str | None:
    """A single value that is short enough for a line."""
    if isinstance(value, Mapping | list) or value is None:
        return None
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= _MOST_VALUE else None
