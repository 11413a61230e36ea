"""Paths as clients ask for them, and as routes have them: below `/api/v1`, and behind names.

The prefix `/api` is taken off a request before anything looks at its path, and put back where an
answer shows a path. So there is one set of routes, which is looked up, measured and logged alike.
Two things differ: to these clients lists also show the keys that they cannot do without, and the
statuses of contracts have their names (`domain.openmetadata.status_names`).
"""

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote

Headers = Iterable[tuple[bytes, bytes]]

USUAL = "/v1/"
"""Beginning of the paths without a prefix."""
_PREFIX = "/api"
_BEFORE_V1 = re.compile(r"/+api(?=/+v1/)").match
"""The prefix as clients send it: one whose base ends in a slash sends two slashes."""
_RAW_BEFORE_V1 = re.compile(rb"/+api(?=/+v1/)").match


def take_off_prefix(scope: Any) -> None:
    """Take the prefix off the path of a request, if it has one, and remember that it was there."""
    if prefix := _BEFORE_V1(scope["path"]):
        scope["path"] = scope["path"][prefix.end() :]
        # The raw path may spell the prefix in another way. It is read only behind the prefix.
        if raw_prefix := _RAW_BEFORE_V1(scope["raw_path"]):
            scope["raw_path"] = scope["raw_path"][raw_prefix.end() :]
        scope["prefix"] = _PREFIX


def has_prefix(scope: Any) -> bool:
    """True if a request came below `/api/v1`, as those of OpenMetadata's clients do."""
    return "prefix" in scope


def as_asked(scope: Any, path: str) -> str:
    """A path of the API as the client of a request writes it."""
    return f"{scope.get('prefix', '')}{path}"


def origin(public_url: str | None, scope: Any) -> str:
    """The scheme and host at which browsers see the catalog: as set, or as the request names it."""
    if public_url is not None:
        return public_url.rstrip("/")
    host = next((value for name, value in scope["headers"] if name == b"host"), b"")
    return f"{scope['scheme']}://{host.decode('latin-1')}"


def with_location_as_asked(scope: Any, headers: Headers) -> Headers:
    """The headers of an answer, its Location as the client of the request writes paths."""
    if not has_prefix(scope):
        return headers
    return [
        (name, as_asked(scope, value.decode()).encode() if name == b"location" else value)
        for name, value in headers
    ]


PUBLISHED = "/api/datacontracts"
"""The path at which datacontract-cli publishes, without the id that it puts behind it."""
_BELOW_API = re.compile(r"/+api/").match


SLASH = "\x1f"
"""Stands in the path of a request for a slash of a name; no name holds it."""
_ENCODED_SLASH = re.compile(rb"%2[fF]").search
COLUMNS_OF = "/v1/tables/columns/name/"
"""The path of a table's columns, up to the name of the table."""
DOCUMENT_OF, YAML_OF = "/v1/dataContracts/odcs/name/", "/v1/dataContracts/odcs/yaml/name/"
"""The paths of a contract's document, in JSON and in YAML, up to the name of the contract."""
_BEHIND_NAMES = (
    ("/v1/tables/name/", "/columns", COLUMNS_OF),
    ("/v1/dataContracts/name/", "/odcs", DOCUMENT_OF),
    ("/v1/dataContracts/name/", "/odcs/yaml", YAML_OF),
)
"""The parts of a path before and behind a name, and the path that ends in the name."""


def reroute(scope: Any) -> None:
    """Change the path of a request for a part of an entity, which goes on behind the name.

    A slash that the client has encoded is kept apart from those between the parts of the path: it
    belongs to a name, wherever that stands. An id behind `PUBLISHED` comes as it is, with slashes
    and `../` in it; the body has it too, so that it is taken off.
    """
    if scope["method"] == "PUT" and _BELOW_API(scope["path"]):
        scope["path"], scope["raw_path"] = PUBLISHED, PUBLISHED.encode()
        return
    raw_path: bytes = scope.get("raw_path", b"").partition(b"?")[0]
    if _ENCODED_SLASH(raw_path) and scope["path"].startswith(USUAL):
        parts = raw_path.decode("latin-1").split("/")
        scope["path"] = "/".join(unquote(part).replace("/", SLASH) for part in parts)
    path: str = scope["path"]
    for before, after, instead in _BEHIND_NAMES:
        if path.endswith(after) and path.startswith(before):
            raw: bytes = scope["raw_path"].partition(b"?")[0]
            name = raw.partition(b"/name/")[2]
            # Percent-encoded, the slash would belong to the name.
            if name.endswith(after.encode()) and name != after.encode():
                scope["path"] = f"{instead}{path[len(before) : -len(after)]}"
                scope["raw_path"] = instead.encode() + name.removesuffix(after.encode())
            return
