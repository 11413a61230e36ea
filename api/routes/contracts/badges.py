"""Badges of contracts, to be shown on pages that are not the catalog's."""

from typing import Any
from xml.sax.saxutils import escape

from litestar.handlers import HTTPRouteHandler

from api.callers.permissions import Access, Action, Permission
from api.declaring.operation import EntityRead
from api.declaring.signatures import AnyRequest, id_in_path
from api.services import Services
from api.use_cases.documents import CONTRACT
from api.use_cases.entity_reads import etag
from api.use_cases.measured import reading
from domain.aggregate.entity import Entity
from domain.aggregate.lifecycle import format_version
from domain.contracts.canonical import read_canonical
from domain.contracts.exporting import given_document
from projections.visibility.documents import cut_document
from projections.visibility.withholding import Withheld

SVG = "image/svg+xml"
_COLORS = {"Active": "#0969da", "Draft": "#6e7781", "Deprecated": "#9a6700"}
"""Status -> colour. Green is for what was measured, which a status is not."""
_FIRST = CONTRACT.statuses[0]
_LABEL = "contract"
_LONGEST = 30
"""Characters of a version."""
_LETTER = 7
"""Width that a character is given, in pixels."""


def badge_routes(services: Services) -> list[HTTPRouteHandler]:
    """The route of the badge of a contract."""

    def badge(request: AnyRequest, entity_id: str) -> tuple[bytes, dict[str, Any]]:
        access: Access = request.auth
        withheld = access.withheld(Action.VIEW, CONTRACT.name)
        contract = services.catalog.planner.live(CONTRACT, id_in_path(entity_id))
        status = contract.status or _FIRST
        text = f"{access.statuses.name(status)} {_version(contract, withheld)}"
        made = badge_svg(text.strip(), _COLORS[status])
        digest = withheld.digest if withheld else None
        tag = etag(format_version(contract.version), contract.last_event, digest)
        headers = {"ETag": tag, "Content-Security-Policy": "default-src 'none'"}
        return made, {"headers": headers, "conditional": True, "media_type": SVG}

    viewing = Permission(Action.VIEW, CONTRACT.name)
    path = f"/v1/{CONTRACT.collection}/{{entity_id:str}}/badge.svg"
    return [_BADGE.at("GET", path, viewing, reading(services, badge))]


_BADGE = EntityRead(
    "get{Kind}Badge",
    "Get a badge of a {kind}",
    "Its status, and the version of its document; of one without, that of the {kind} itself.",
    answer="",
    headers=("ETag",),
    media_type=SVG,
)


def badge_svg(text: str, color: str) -> bytes:
    """A badge that says a text on a colour; the text may hold any characters."""
    widths = [_LETTER * len(each) + 2 * _LETTER for each in (_LABEL, text)]
    left, right = widths
    shown = escape(text)
    title = f"{_LABEL}: {shown}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img"'
        f' aria-label="{title.replace(chr(34), "&quot;")}"><title>{title}</title>'
        f'<rect width="{left}" height="20" fill="#444"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{color}"/>'
        '<g fill="#fff" font-family="Verdana,sans-serif" font-size="11" text-anchor="middle">'
        f'<text x="{left / 2:g}" y="14">{_LABEL}</text>'
        f'<text x="{left + right / 2:g}" y="14">{shown}</text></g></svg>'
    ).encode()


def _version(contract: Entity, withheld: Withheld | None) -> str:
    """The version to show; raises FieldWithheld where all of the document is withheld."""
    given = given_document(contract.body)
    if given is None:
        return format_version(contract.version)
    document = read_canonical(given.text)
    if withheld:
        document = cut_document(document, withheld)
    version = "".join(filter(str.isprintable, str(document.get("version", ""))))
    return version if len(version) <= _LONGEST else f"{version[:_LONGEST]}…"
