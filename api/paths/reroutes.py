"""Routes for paths with a part behind a qualified name, which may itself hold slashes.

Such a path is changed into one that ends with the name, under which there is a route.
"""

from typing import Any

_BEFORE, _AFTER = "/v1/tables/name/", "/columns"
COLUMNS_OF = "/v1/tables/columns/name/"
"""The path of a table's columns, up to the name of the table."""


def reroute(scope: Any) -> None:
    """Change the path of a request for the columns of a table that it names."""
    path: str = scope["path"]
    if not (path.endswith(_AFTER) and path.startswith(_BEFORE)):
        return
    raw: bytes = scope["raw_path"].partition(b"?")[0]
    name = raw.partition(b"/name/")[2]
    # Percent-encoded, the slash would belong to the name.
    if name.endswith(_AFTER.encode()) and name != _AFTER.encode():
        scope["path"] = f"{COLUMNS_OF}{path[len(_BEFORE) : -len(_AFTER)]}"
        scope["raw_path"] = COLUMNS_OF.encode() + name.removesuffix(_AFTER.encode())
