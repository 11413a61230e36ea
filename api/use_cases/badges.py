"""Badges of contracts: pictures of the status, the version of their documents and the verdict."""

from xml.sax.saxutils import escape

from api.callers.permissions import Access, Action
from domain.aggregate.entity import Entity
from domain.aggregate.lifecycle import format_version
from domain.contracts.canonical import read_canonical
from domain.contracts.exporting import given_document
from domain.errors import cut
from domain.kinds.registry import CONTRACT
from domain.openmetadata.verdicts import KEY, verdict_now
from projections.visibility.documents import cut_document
from projections.visibility.withholding import Withheld

SVG = "image/svg+xml"
_OF_VERDICT = {"Success": "#1a7f37", "PartialSuccess": "#9a6700", "Failed": "#cf222e"}
"""Verdict -> colour."""
_COLORS = {"Active": "#0969da", "Draft": "#6e7781", "Deprecated": "#9a6700"}
"""Status -> colour. Green is for what was measured, which a status is not."""
_FIRST = CONTRACT.statuses[0]
_LABEL = "contract"
_LONGEST = 30
"""Characters of a version."""
_LETTER = 7
"""Width that a character is given, in pixels."""


def badge_text(access: Access, contract: Entity) -> str:
    """The text of the badge of a contract, as far as the caller may see it.

    Raises FieldWithheld where all of the document is withheld.
    """
    status = access.statuses.name(contract.status or _FIRST)
    return f"{status} {_version(contract, access.withheld(Action.VIEW, CONTRACT.name))}".strip()


def badge_of(access: Access, contract: Entity) -> bytes:
    """The badge of a contract, as SVG; raises what `badge_text` raises.

    A verdict that holds now, and that the caller may see, follows the status, and colours it.
    """
    text, color = badge_text(access, contract), _COLORS[contract.status or _FIRST]
    withheld = access.withheld(Action.VIEW, CONTRACT.name)
    verdict = verdict_now(contract.judged, contract.version).status
    if verdict in _OF_VERDICT and not (withheld and withheld.covers(KEY)):
        text, color = f"{text} · {verdict}", _OF_VERDICT[verdict]
    return badge_svg(text, color)


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
    return cut(version, _LONGEST)
