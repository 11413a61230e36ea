"""Lineage edges in requests: the names of their entities, and the part that callers may see."""

from typing import Any
from urllib.parse import unquote_to_bytes

import msgspec

from api.callers.permissions import Access, Action, Permission
from api.declaring.signatures import AnyRequest
from api.errors import Forbidden
from domain.errors import InvalidInput, NotFound, shown
from domain.kinds.bodies.components import Reference
from domain.kinds.bodies.refused_values import converted
from domain.kinds.ids import parse_id
from domain.kinds.registry import KINDS
from domain.patches.json_input import decode
from domain.writing.lineage import Ends

BASE = "/v1/lineage"
_OF_EDGE = 6
"""Segments of the path of an edge by the names of its ends."""
BOTH_NAMED = "{entity_type}/name/{fqn}/{to_type}/name/{to_fqn}"
"""The path of an edge by the names of its ends, as the document shows it."""


class _Edge(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    from_entity: dict[str, Any]
    to_entity: dict[str, Any]
    description: str | None = None
    lineage_details: dict[str, Any] | None = None


class _AddLineage(msgspec.Struct, forbid_unknown_fields=True):
    edge: _Edge


def by_id(access: Access, kind: str, entity_id: str) -> Reference:
    """The entity of a kind and an id in a path; raises NotFound, Forbidden or InvalidInput."""
    return Reference(type=_viewed(access, kind), id=parse_id(entity_id, "id"))


def by_name(access: Access, kind: str, fqn: str) -> Reference:
    """The entity of a kind and a qualified name in a path; raises NotFound or Forbidden."""
    return Reference(type=_viewed(access, kind), fully_qualified_name=KINDS[kind].spelled(fqn))


def named_ends(access: Access, segments: list[str]) -> Ends:
    """The ends of an edge in the path `{kind}/name/{name}/{kind}/name/{name}`.

    Raises NotFound for another path, and what `by_name` raises.
    """
    match segments:
        case [from_kind, "name", from_fqn, to_kind, "name", to_fqn]:
            return Ends(by_name(access, from_kind, from_fqn), by_name(access, to_kind, to_fqn))
    raise NotFound(
        "there is no such path: an edge by names is"
        " {fromType}/name/{fromFqn}/{toType}/name/{toFqn}, with `/` in names as %2F"
    )


def is_edge_path(scope: Any) -> bool:
    """Return True if a path below `{kind}/name/` is that of an edge, not of one entity."""
    return len(_segments(scope, f"{BASE}/")) == _OF_EDGE


def is_entity_path(scope: Any) -> bool:
    """Return True if a path below `{kind}/name/` is that of one entity."""
    return not is_edge_path(scope)


def of_source(access: Access, segments: list[str]) -> tuple[Reference, str]:
    """The entity and the source in the path `{kind}/{name}/type/{source}`; raises as above."""
    match segments:
        case [kind, fqn, "type", source]:
            return by_name(access, kind, fqn), source
    raise NotFound("there is no such path: it ends in /{type}/{fqn}/type/{source}")


def segments_after(request: AnyRequest, prefix: str) -> list[str]:
    """The decoded segments of a path behind a prefix.

    They are read from the raw path, because names may hold slashes, percent-encoded there.
    """
    try:
        return [unquote_to_bytes(each).decode() for each in _segments(request.scope, prefix)]
    except UnicodeDecodeError:
        raise InvalidInput("a name in the path is not UTF-8") from None


def _segments(scope: Any, prefix: str) -> list[bytes]:
    raw: bytes = scope["raw_path"].partition(b"?")[0]
    return raw.partition(prefix.encode())[2].split(b"/")


def edge_in_body(access: Access, body: bytes) -> tuple[Ends, dict[str, Any]]:
    """The ends and the details in a body `{edge: {fromEntity, toEntity, lineageDetails}}`.

    A description of the edge itself counts where its details have none.
    """
    try:
        edge = msgspec.convert(decode(body, dict[str, Any], "the body"), type=_AddLineage).edge
    except msgspec.ValidationError as error:
        raise InvalidInput(str(error)) from None
    details = dict(edge.lineage_details or {})
    if details.get("description") is None:
        details["description"] = edge.description
    ends = Ends(
        _referred(access, edge.from_entity, "fromEntity"),
        _referred(access, edge.to_entity, "toEntity"),
    )
    return ends, details


def _referred(access: Access, given: dict[str, Any], where: str) -> Reference:
    reference = converted(given, Reference, f"edge.{where}")
    if reference.type is None:
        raise InvalidInput(f"edge.{where}: a reference needs its `type` here")
    if reference.type not in KINDS:
        raise InvalidInput(f"edge.{where}.type is no kind: {shown(reference.type)}")
    if reference.id is None and reference.fully_qualified_name is None:
        raise InvalidInput(f"edge.{where}: a reference needs `id` or `fullyQualifiedName`")
    if reference.id is not None:
        return by_id(access, reference.type, reference.id)
    return by_name(access, reference.type, reference.fully_qualified_name or "")


def _viewed(access: Access, kind: str) -> str:
    """A kind that the caller may view; raises NotFound for no kind, Forbidden for another."""
    if kind not in KINDS:
        raise NotFound(f"Entity type {kind[:80]} not found")
    if not access.may(Permission(Action.VIEW, kind)):
        raise Forbidden(f"lineage: you have no permission to view {kind}")
    return kind
