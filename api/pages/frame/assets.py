"""The files that pages load: style, script and icon, all of them ours or vendored."""

from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType

_STATIC = Path(__file__).parents[1] / "static"

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
