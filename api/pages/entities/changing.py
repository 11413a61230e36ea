"""Changes that people make from pages: the write of the API, at the version that they saw."""

from collections.abc import Mapping
from typing import Any

import msgspec

from api.callers.permissions import Action
from api.errors import Forbidden, status_of
from api.pages.frame.rendering import AnyRequest
from api.services import Services
from api.use_cases.asked import asked_by_form, expected_state
from api.use_cases.entity_writes import PlanOf, write_entity
from domain.aggregate.lifecycle import format_version
from domain.errors import CatalogError, InvalidInput, NotEmpty, NotFound, StaleVersion
from domain.kinds.entity_kind import EntityKind
from domain.openmetadata import document
from domain.reading import history

REFUSALS = (CatalogError, Forbidden)
"""Errors that are shown beside the form that was sent."""


def needed(fields: Mapping[str, str], name: str) -> str:
    """A field that a form must have; raises InvalidInput."""
    if name not in fields:
        raise InvalidInput(f"the form has no {name}")
    return fields[name]


async def change(
    services: Services, request: AnyRequest, plan_of: PlanOf, body: bytes, tag: str
) -> None:
    """Do a write with the body that a program would send, if the entity still has an ETag.

    Raises what `write_entity` raises. Where the entity has another state by now, that state is
    what pages show from then on.
    """
    asked = asked_by_form(request, body, tag)
    try:
        await write_entity(services, request, asked, plan_of, lambda _: None)
    except StaleVersion:
        head = await services.heavy_read(request, services.catalog.store.head)
        await services.listed.until(head)
        raise


def refusal(error: Exception) -> tuple[int, str]:
    """The status and the words of one of REFUSALS."""
    if isinstance(error, NotEmpty):
        # The error tells programs how to ask for it.
        return status_of(error)[0], "It is not empty: it goes only with everything below it."
    if isinstance(error, CatalogError):
        return status_of(error)[0], error.message
    return 403, str(error)


def read_seen(
    services: Services, request: AnyRequest, kind: EntityKind, entity_id: str, tag: str
) -> dict[str, Any] | None:
    """The state of an entity that had an ETag, as the caller may see it.

    Blocks. None for a state that is not in the log: it was lost, or another entity had it. Raises
    InvalidInput for no ETag.
    """
    version, last_event = expected_state(tag)
    try:
        text = format_version(version or 0)
        before = history.version(services.stores.log, kind, entity_id, text)
    except NotFound:
        return None
    if last_event not in (None, before.entity.last_event):
        return None
    seen = document.encode(document.fields(before.entity))
    if withheld := request.auth.withheld(Action.VIEW, kind.name):
        seen = withheld.cut(seen)
    return msgspec.json.decode(seen, type=dict[str, Any])


def changed_keys(kind: EntityKind, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """The keys of a kind that differ between two versions of an entity."""
    return [
        key
        for key in dict.fromkeys((*old, *new))
        if key in kind.keys and (old.get(key) or None) != (new.get(key) or None)
    ]
