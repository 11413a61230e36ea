"""The paths that clients of OpenLineage post to, and their wish for errors to try again."""

from typing import Any

EVENT_PATHS = ("/v1/lineage", "/v1/openlineage/lineage")
BATCH_PATHS = tuple(f"{path}/batch" for path in EVENT_PATHS)
_PATHS = frozenset((*EVENT_PATHS, *BATCH_PATHS))
RETRY_SECONDS = 1


def takes_no_429(scope: Any) -> bool:
    """True if the client of a request drops what is answered with 429, and tries a 503 again."""
    return scope["method"] == "POST" and scope["path"].rstrip("/") in _PATHS
