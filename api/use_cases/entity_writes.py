"""One entity changed for a caller: what routes do with a request, and pages with a form.

A request for a write is kept as it was received: its body, its conditions and who asks.
"""

import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from hashlib import sha256
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from api.answers.bodies import JSON_TYPES, YAML_TYPES, check_media_type, read_body
from api.answers.responses import Finished
from api.callers.permissions import Access, Action, Permission
from api.comparisons import comparison
from api.declaring.signatures import AnyRequest
from api.errors import ContractBreaks
from api.services import Services, Written
from api.use_cases.deletes import check_recursive, may_delete_attached
from api.use_cases.entity_reads import etag
from domain.aggregate.lifecycle import format_version
from domain.contracts.yaml_input import read_yaml
from domain.errors import CatalogError, InvalidInput
from domain.kinds.entity_kind import EntityKind
from domain.kinds.ids import parse_id
from domain.kinds.registry import CONTRACT, KINDS
from domain.openmetadata import document
from domain.patches.json_input import decode
from domain.reading import changes
from domain.write_context import TakesLong, WriteContext
from domain.writing.catalog import EntityProposal
from domain.writing.contract_gate import ContractBroken
from domain.writing.entity_cache import ByName
from domain.writing.planning import Planner
from domain.writing.plans import Change, Plan

MAX_KEY_LENGTH = 255
_ETAG = re.compile(
    r'^(?:W/)?"?(\d{1,9})\.(\d)(?:-([0-9a-f]{8})(?:\.\d{1,9})?(?:-[0-9a-f]{8})?)?"?$'
)
_OF_ONE = ("if-match", "if-none-match", "idempotency-key")
"""Headers that mean one entity."""


class Asked(msgspec.Struct, frozen=True):
    """A request for a write, as it was received."""

    target: bytes
    """Method, address and condition."""
    body: bytes
    context: WriteContext
    """The conditions of the write, without the digest, which takes long for a large body."""
    access: Access
    """The rights of the caller."""
    is_yaml: bool = False
    """True if the body is said to be YAML."""

    def values(self) -> dict[str, Any]:
        """The decoded body, an object; raises InvalidInput for anything else."""
        if not self.is_yaml:
            return decode(self.body, dict[str, Any], "the body")
        if not isinstance(value := read_yaml(self.body), dict):
            raise InvalidInput("the body must be a mapping at its top")
        return value


def refuse_headers_of_one(request: AnyRequest, what: str) -> None:
    """Raise InvalidInput for a header that means one entity, in a request that may mean more."""
    for name in _OF_ONE:
        if name in request.headers:
            raise InvalidInput(f"{name} means one entity: leave it out of {what}")


async def read_asked(request: AnyRequest, media_types: tuple[str, ...]) -> Asked:
    """Read a request for a write; its body is not decoded yet."""
    headers = request.scope["headers"]
    content_types = (value.decode("latin-1") for name, value in headers if name == b"content-type")
    given_type = check_media_type(next(content_types, None), media_types)
    body = await read_body(request)
    key = _only(headers, b"idempotency-key")
    if key is not None and not 1 <= len(key) <= MAX_KEY_LENGTH:
        raise InvalidInput(f"Idempotency-Key must have 1 to {MAX_KEY_LENGTH} characters")
    condition, unless = _only(headers, b"if-match"), _only(headers, b"if-none-match")
    target = b"%b %b?%b\0%b\0%b" % (
        request.method.encode(),
        request.scope["raw_path"],
        request.scope["query_string"],
        (condition or "").encode(),
        (unless or "").encode(),
    )
    context = replace(
        context_of(request, condition),
        must_not_exist=unless is not None,
        idempotency_key=key,
    )
    # No write may depend on an entity not being at a version.
    if unless is not None and unless.strip() != "*":
        raise InvalidInput(f"If-None-Match must be *, got {unless[:64]!r}")
    return Asked(target, body, context, request.auth, given_type in YAML_TYPES)


def _only(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> str | None:
    """The value of a header, None without it; raises InvalidInput where it is given twice."""
    values = [value.decode("latin-1") for each, value in headers if each == name]
    if len(values) > 1:
        raise InvalidInput(
            f"the header {name.decode()} may be given once, got it {len(values)} times"
        )
    return values[0] if values else None


def context_of(request: AnyRequest, condition: str | None = None) -> WriteContext:
    """Return who asks, and the state that the entity must have; raises InvalidInput."""
    version, last_event = expected_state(condition)
    return WriteContext(
        actor=request.user.name,
        request_id=request.scope["state"]["request_id"],
        by_bot=request.auth.bot,
        editable=request.auth.kinds(Action.EDIT),
        sees_columns=request.auth.sees_columns,
        sees_whole=request.auth.sees_whole,
        expected_version=version,
        expected_event=last_event,
        must_exist=condition is not None,
    )


def with_digest(asked: Asked) -> Asked:
    """The request with a digest of itself, if it has an idempotency key."""
    if asked.context.idempotency_key is None:
        return asked
    digest = sha256(asked.target + b"\0" + asked.body).digest()
    return replace(asked, context=replace(asked.context, digest=digest))


def may_bring(access: Access, kind: EntityKind) -> bool:
    """Return True if a caller may create the parent that an entity of a kind brings, if any."""
    if kind.suites is None:
        return True
    parents = kind.refers_to[kind.parents[0]]
    return all(access.may(Permission(Action.CREATE, parent)) for parent in parents)


def taken_values(
    kind: EntityKind, action: Action, access: Access, values: Mapping[str, Any]
) -> Mapping[str, Any]:
    """The decoded body of a create or update of a caller, as the catalog takes it.

    Raises FieldWithheld, and InvalidInput for the status of a contract.
    """
    if withheld := access.withheld(action, kind.name):
        withheld.refuse_writing(values, replacing=action is Action.EDIT)
    refuse_members(access, kind, values)
    return access.statuses.said(kind, values)


def refuse_members(access: Access, kind: EntityKind, values: Mapping[str, Any]) -> None:
    """Raise FieldWithheld where members that a body names have the key withheld that is changed."""
    for field, members in kind.members.items():
        withheld = access.withheld(Action.EDIT, members.kind) if values.get(field) else None
        if withheld:
            withheld.refuse_field(KINDS[members.kind].filters[members.parameter], field)


def expected_state(condition: str | None) -> tuple[int | None, str | None]:
    """Return the state that an If-Match names: tenths of a version, and its `last_change`.

    Nothing without the header, or for `*`. A version alone, as OpenMetadata's client sends it, is
    good for whatever came at that version. Raises InvalidInput.
    """
    if condition is None or condition.strip() == "*":
        return None, None
    match = _ETAG.match(condition.strip())
    if match is None:
        raise InvalidInput(
            f'If-Match must be * or the ETag of one version such as W/"0.2", got {condition[:64]!r}'
        )
    return int(match[1]) * 10 + int(match[2]), match[3]


T = TypeVar("T")

PlanOf = Callable[[Asked], Callable[[], Plan]]
"""Function that checks a request, and gives a function that plans its write on the newest state."""

_MOST_DROPPED = 20
"""Labels of a bot that were left out which a header names."""
_IDENTITY_ONLY = "00000000"
"""Stands for the digest of withheld fields if all is withheld but what identifies the entity."""
_IDENTITY = frozenset({"id", "name", "fullyQualifiedName", "version", "deleted"})


def plan_patch(
    planner: Planner, kind: EntityKind, which: str | ByName, asked: Asked
) -> Callable[[], Plan]:
    """A JSON Patch of an entity; raises InvalidInput and FieldWithheld."""
    operations = decode(asked.body, list[dict[str, Any]], "a JSON Patch")
    if withheld := asked.access.withheld(Action.EDIT, kind.name):
        withheld.refuse_patching(operations)
    taken = asked.access.statuses.patch(kind, operations)
    return partial(planner.patch, kind, which, taken, asked.context)


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
    together with those of others. Work that takes longer with the length of the log has turns of
    its own. Raises what `Services.write`, `plan_of` and the plan raise.
    """

    def propose(brief: bool) -> tuple[EntityProposal, T]:
        whole = with_digest(replace(asked, context=replace(asked.context, brief=brief)))
        try:
            proposal = services.catalog.propose(plan_of(whole), whole.context)
        except ContractBroken as error:
            raise with_changes(error, asked.access) from None
        return proposal, encode(proposal)

    try:
        return await services.write(request, partial(propose, True))
    except TakesLong:
        return await services.write(request, partial(propose, False), services.long_writes)


def with_changes(error: ContractBroken, access: Access) -> CatalogError:
    """The refusal with the changes that break a contract, if the caller may see all of it."""
    if CONTRACT.name not in access.sees_whole:
        error.message = error.plain
        return error
    return ContractBreaks(error.message, comparison(error.changes, error.perspective))


def _shown(
    kind: EntityKind, action: Action, access: Access, proposal: EntityProposal
) -> tuple[bytes, int, dict[str, str]]:
    """The answer, but for what the write itself tells: the entity as far as the caller may see it.

    The answer has what both the action and `view` show; a caller without `view` gets no more than
    what identifies the entity.
    """
    entity = proposal.entity
    headers = {"X-OpenMetadata-Change": proposal.change.value}
    if proposal.dropped:
        headers["X-Catalog-Dropped-Tags"] = json.dumps(proposal.dropped[:_MOST_DROPPED])
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
    shown = access.statuses.shown(kind, shown)
    headers["ETag"] = etag(format_version(entity.version), entity.last_event, hidden)
    return shown, 201 if proposal.change is Change.CREATED else 200, headers
