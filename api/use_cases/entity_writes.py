"""One entity changed for a caller: what routes do with a request, and pages with a form."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar

import msgspec

from api.answers.bodies import JSON_TYPES
from api.answers.responses import Finished
from api.callers.permissions import Access, Action, Permission
from api.declaring.signatures import AnyRequest
from api.services import Services, Written
from api.use_cases.asked import Asked, read_asked, with_digest
from api.use_cases.deletes import check_recursive, may_delete_attached
from api.use_cases.entity_reads import etag
from domain.aggregate.lifecycle import format_version
from domain.kinds.entity_kind import EntityKind
from domain.kinds.ids import parse_id
from domain.openmetadata import document
from domain.patches.json_input import decode
from domain.reading import changes
from domain.writing.catalog import EntityProposal
from domain.writing.entity_cache import ByName
from domain.writing.planning import Planner
from domain.writing.plans import Change, Plan

T = TypeVar("T")

PlanOf = Callable[[Asked], Callable[[], Plan]]
"""Makes of a request, which it checks, what plans the write on the newest state."""

_IDENTITY_ONLY = "00000000"
"""In place of the digest of what is withheld: all but what identifies the entity."""
_IDENTITY = frozenset({"id", "name", "fullyQualifiedName", "version", "deleted"})


def plan_patch(
    planner: Planner, kind: EntityKind, which: str | ByName, asked: Asked
) -> Callable[[], Plan]:
    """A JSON Patch of an entity; raises InvalidInput and FieldWithheld."""
    operations = decode(asked.body, list[dict[str, Any]], "a JSON Patch")
    if withheld := asked.access.withheld(Action.EDIT, kind.name):
        withheld.refuse_patching(operations)
    return partial(planner.patch, kind, which, operations, asked.context)


def plan_delete(
    planner: Planner,
    kind: EntityKind,
    which: str | ByName,
    hard: bool,
    recursive: bool,
    asked: Asked,
) -> Callable[[], Plan]:
    """A delete of an entity, soft unless `hard`; raises Forbidden for what is below it."""
    if recursive:
        check_recursive(asked.access, kind)
    return partial(
        planner.delete,
        kind,
        which,
        asked.context,
        hard=hard,
        recursive=recursive,
        attached=may_delete_attached(asked.access),
    )


def plan_restore(planner: Planner, kind: EntityKind, asked: Asked) -> Callable[[], Plan]:
    """Make live again the soft-deleted entity whose id the body holds; raises InvalidInput."""
    entity_id = parse_id(decode(asked.body, _Restore, "the body").id, "id")
    return partial(planner.restore, kind, entity_id, asked.context)


class _Restore(msgspec.Struct, forbid_unknown_fields=True):
    id: str


async def answer_write(
    services: Services,
    kind: EntityKind,
    request: AnyRequest,
    action: Action,
    plan_of: PlanOf,
    media_types: tuple[str, ...] = JSON_TYPES,
    before: Callable[[Asked], Awaitable[None]] | None = None,
) -> Finished:
    """Do a write, and answer with the entity once lists have it.

    `before` does what has to be stored before the write.
    """
    asked = await read_asked(request, media_types)
    if before is not None:
        await before(asked)
    encode = partial(_shown, kind, action, asked.access)
    written, answer = await write_entity(services, request, asked, plan_of, encode)
    body, status, headers = answer
    return Finished(body, status_code=status, headers=headers | written.headers)


async def write_entity(
    services: Services,
    request: AnyRequest,
    asked: Asked,
    plan_of: PlanOf,
    encode: Callable[[EntityProposal], T],
) -> tuple[Written, T]:
    """Do a write: where it is stored, and what `encode` makes of it, once lists have it.

    All that takes long runs in threads: decode, plan and encode in the caller's turn, the append
    together with those of others. Raises what `Services.write`, `plan_of` and the plan raise.
    """

    def propose() -> tuple[EntityProposal, T]:
        whole = with_digest(asked)
        proposal = services.catalog.propose(plan_of(whole), whole.context)
        return proposal, encode(proposal)

    return await services.write_for(request, propose)


def _shown(
    kind: EntityKind, action: Action, access: Access, proposal: EntityProposal
) -> tuple[bytes, int, dict[str, str]]:
    """The answer, but for what the write itself tells: the entity as far as the caller may see it.

    The answer has what both the action and `view` show; a caller without `view` gets no more than
    what identifies the entity.
    """
    entity = proposal.entity
    headers = {"X-OpenMetadata-Change": proposal.change.value}
    if proposal.change is Change.CREATED:
        headers["Location"] = f"/v1/{kind.collection}/{entity.id}"
    fields = document.fields(entity)
    hidden = None
    if not access.may(Permission(Action.VIEW, kind.name)):
        fields = {key: raw for key, raw in fields.items() if key in _IDENTITY}
        hidden = _IDENTITY_ONLY
    everywhere = (
        access.withheld(action, kind.name),
        access.withheld(Action.VIEW, kind.name),
    )
    if proposal.change is Change.UPDATED and proposal.before and not (hidden or any(everywhere)):
        # What is withheld in any place is left out: it has old and new values of any field.
        description = changes.describe(proposal.before, entity)
        fields["changeDescription"] = msgspec.Raw(msgspec.json.encode(description))
    shown = document.encode(fields)
    for withheld in everywhere:
        if withheld:
            shown, hidden = withheld.cut(shown), withheld.digest
    headers["ETag"] = etag(format_version(entity.version), entity.last_event, hidden)
    return shown, 201 if proposal.change is Change.CREATED else 200, headers
