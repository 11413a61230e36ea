"""The addresses of pages, readable and made in one place, and the files that pages load."""

from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from urllib.parse import parse_qsl, urlencode

_STATIC = Path(__file__).parents[1] / "static"

DATED = ("at", "asOf", "beside")
"""The parameters of a page that name a moment of the past."""
OF_ONE_MOMENT = (*DATED, "before", "after")
"""Parameters that the same page of another moment does not have: a cursor is of one moment."""
ASSETS: Mapping[str, str] = MappingProxyType(
    {
        "catalog.css": "text/css; charset=utf-8",
        "catalog.js": "text/javascript; charset=utf-8",
        "htmx.min.js": "text/javascript; charset=utf-8",
        "htmx.LICENSE.txt": "text/plain; charset=utf-8",
        "icon.svg": "image/svg+xml",
    }
)
"""Name of each file -> its media type; nothing else is served."""


@cache
def read_asset(name: str) -> bytes:
    """The content of one of ASSETS."""
    return (_STATIC / name).read_bytes()


@cache
def asset_address(name: str) -> str:
    """The address of a static file, which changes with its content so that browsers may keep it."""
    return f"/static/{sha256(read_asset(name)).hexdigest()[:12]}/{name}"


def list_address(kind: str, **given: str | None) -> str:
    """The list of the entities of a kind, narrowed by the parameters of the kind's list."""
    return with_query(f"/browse/{kind}", given)


def with_query(address: str, given: Mapping[str, str | None]) -> str:
    """An address, which may have a query, with those of the parameters that have a value."""
    pairs = [(name, value) for name, value in given.items() if value]
    return f"{address}{'&' if '?' in address else '?'}{urlencode(pairs)}" if pairs else address


def without_date(address: str) -> str | None:
    """The address of the same page of the present; None for one that names no date."""
    path, _, query = address.partition("?")
    pairs = parse_qsl(query, keep_blank_values=True)
    if all(name not in DATED for name, _ in pairs):
        return None
    left = [(name, value) for name, value in pairs if name not in OF_ONE_MOMENT]
    return f"{path}?{urlencode(left)}" if left else path


def is_local(address: str) -> bool:
    """True if an address leads to a page of this catalog, so that a sign-in may lead there.

    A browser reads `//host` and `/\\host` as other hosts, and drops tabs and line ends.
    """
    return (
        address.startswith("/")
        and address[1:2] not in ("/", "\\")
        and address.isprintable()
        and address.isascii()
    )
