"""A request for a write as it was received: its body, its conditions and who asks."""

import re
from hashlib import sha256

import msgspec
from litestar.datastructures import Headers
from msgspec.structs import replace

from api.answers.bodies import check_media_type, read_body
from api.callers.permissions import Access, Action, Permission
from api.declaring.signatures import AnyRequest
from domain.errors import InvalidInput
from domain.kinds.entity_kind import EntityKind
from domain.write_context import WriteContext

MAX_KEY_LENGTH = 255
_ETAG = re.compile(r'^(?:W/)?"?(\d{1,9})\.(\d)(?:-([0-9a-f]{8})(?:-[0-9a-f]{8})?)?"?$')
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
    """What the caller may do and see."""


def refuse_headers_of_one(request: AnyRequest, what: str) -> None:
    """Raise InvalidInput for a header that means one entity, in a request that may mean more."""
    for name in _OF_ONE:
        if name in request.headers:
            raise InvalidInput(f"{name} means one entity: leave it out of {what}")


async def read_asked(request: AnyRequest, media_types: tuple[str, ...]) -> Asked:
    """Read a request for a write; its body is not decoded yet."""
    headers = request.headers
    check_media_type(headers.get("content-type"), media_types)
    body = await read_body(request)
    key = _only(headers, "idempotency-key")
    if key is not None and not 1 <= len(key) <= MAX_KEY_LENGTH:
        raise InvalidInput(f"Idempotency-Key must have 1 to {MAX_KEY_LENGTH} characters")
    condition, unless = _only(headers, "if-match"), _only(headers, "if-none-match")
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
    return Asked(target, body, context, request.auth)


def _only(headers: Headers, name: str) -> str | None:
    """The value of a header, None without it; raises InvalidInput where it is given twice."""
    values = headers.getall(name, [])
    if len(values) > 1:
        raise InvalidInput(f"the header {name} may be given once, got it {len(values)} times")
    return values[0] if values else None


def asked_by_form(request: AnyRequest, body: bytes, condition: str) -> Asked:
    """What the form of a page asks for: a body as a program would send it, under an If-Match."""
    return Asked(request.scope["raw_path"], body, context_of(request, condition), request.auth)


def context_of(request: AnyRequest, condition: str | None = None) -> WriteContext:
    """Who asks, and which state the entity must have; raises InvalidInput for a bad If-Match."""
    version, last_event = expected_state(condition)
    return WriteContext(
        actor=request.user.name,
        request_id=request.scope["state"]["request_id"],
        by_bot=request.auth.bot,
        editable=request.auth.kinds(Action.EDIT),
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
    """Whether a caller may create the parent that an entity of a kind brings, if it brings one."""
    if kind.suites is None:
        return True
    parents = kind.refers_to[kind.parents[0]]
    return all(access.may(Permission(Action.CREATE, parent)) for parent in parents)


def expected_state(condition: str | None) -> tuple[int | None, str | None]:
    """What an If-Match header names: tenths of a version, and the `last_event` at that version.

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
