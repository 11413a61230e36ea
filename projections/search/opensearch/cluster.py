"""Requests to a search cluster, and what becomes of its errors.

A request that the cluster cannot carry out now raises StoreUnavailable with the reason, an index
that is gone IndexMissing, and a query that is beyond the cluster InvalidInput.
"""

import logging
import re
import ssl
from collections.abc import Mapping
from typing import Any

import msgspec
from opensearchpy import OpenSearch
from opensearchpy.exceptions import (
    ConflictError,
    ConnectionTimeout,
    NotFoundError,
    RequestError,
    TransportError,
)
from opensearchpy.serializer import Serializer
from urllib3.exceptions import HTTPError

from domain.errors import InvalidInput, StoreUnavailable
from projections.feeding.port import Damaged
from projections.search.opensearch.address import SearchAddress

REQUEST_SECONDS = 30.0
"""The most seconds of anything that is neither a search nor a look."""
_CONNECTIONS = 16
_SHOWN = 300
_TOO_MUCH = (
    "too_many_clauses",
    "too_many_nested_clauses",
    "maxclausecount",
    "too_many_buckets",
    "too_complex_to_determinize",
    "determinizing",
    "regex length",
)
"""Marks of the errors of a cluster that has to do too much for one query."""
_BUCKETS = "too_many_buckets"
_MISSING_RIGHTS = re.compile(r"no permissions for \[(.+?)\] and User \[")
"""The sentence of a cluster about missing rights; it names the user after them."""

Json = Mapping[str, Any]
# The sender of a failed request reports it, so the client need not log it.
logging.getLogger("opensearch").setLevel(logging.CRITICAL)


class IndexMissing(Damaged):
    """There is no index of this name in the cluster; it has to be built anew."""


class NoDocument(StoreUnavailable):
    """There is no document of this id, or no alias of this name."""


class AlreadyThere(StoreUnavailable):
    """There is an index of this name already."""


class VersionConflict(StoreUnavailable):
    """Another process has written something newer."""


class TooManyBuckets(InvalidInput):
    """The answer would have more buckets than a cluster makes."""


class _Json(Serializer):
    mimetype = "application/json"

    def dumps(self, data: Any) -> Any:
        """Bytes and texts as they are, anything else as JSON."""
        return data if isinstance(data, bytes | str) else msgspec.json.encode(data)

    def loads(self, data: str) -> Any:
        """Decode JSON."""
        return msgspec.json.decode(data)


class Cluster:
    """A connection to the nodes behind one address, for any number of threads."""

    look_seconds = 2.0
    """The most seconds of a `look`, for which its asker waits."""
    glance_seconds = 1.0
    """The most seconds of a `glance`, for which searches wait."""

    def __init__(self, address: SearchAddress) -> None:
        """Connect at the first request."""
        self.address = address
        secured: dict[str, Any] = {}
        if address.scheme == "https":
            try:
                secured["ssl_context"] = ssl.create_default_context(cafile=address.authorities)
            except (OSError, ssl.SSLError):
                raise InvalidInput("the ca of the search cluster cannot be read") from None
        if address.user is not None:
            secured["http_auth"] = (address.user, address.password)
        self._client = OpenSearch(
            hosts=[{"host": address.host, "port": address.port}],
            use_ssl=address.scheme == "https",
            serializer=_Json(),
            pool_maxsize=_CONNECTIONS,
            max_retries=0,
            timeout=REQUEST_SECONDS,
            **secured,
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def look(self, path: str, **parameters: str) -> Any:
        """The answer to a GET of what there is, as `request`; soon, or StoreUnavailable."""
        return self.request("GET", path, None, seconds=self.look_seconds, **parameters)

    def glance(self, path: str) -> Any:
        """The answer to a GET that is repeated to see a change, within `glance_seconds`."""
        return self.request("GET", path, seconds=self.glance_seconds)

    def request(
        self,
        method: str,
        path: str,
        body: Json | bytes | None = None,
        *,
        seconds: float = REQUEST_SECONDS,
        **parameters: str,
    ) -> Any:
        """The decoded answer; raises as the module says.

        A body of bytes is sent as lines of JSON, as `_bulk` takes them.
        """
        headers = {"content-type": "application/x-ndjson"} if isinstance(body, bytes) else None
        try:
            return self._client.transport.perform_request(
                method, path, params=parameters, body=body, timeout=seconds, headers=headers
            )
        except ConnectionTimeout:
            raise StoreUnavailable(
                f"the search cluster did not answer within {seconds:.1f} s"
            ) from None
        except NotFoundError as error:
            why = _reason(error)
            if "index_not_found" in why or "no such index" in why or "aliases_not_found" in why:
                raise IndexMissing(f"the search index is gone from its cluster: {why}") from None
            raise NoDocument(f"the search cluster does not know that: {why}") from None
        except ConflictError as error:
            raise VersionConflict(f"another process wrote to the index: {_reason(error)}") from None
        except TransportError as error:
            raise _mapped(error) from None
        except (HTTPError, OSError) as error:
            raise StoreUnavailable(f"the search cluster cannot be reached: {error}") from None


def _mapped(error: TransportError) -> Exception:
    why = _reason(error)
    lowered = why.lower()
    if any(mark in lowered for mark in _TOO_MUCH):
        if _BUCKETS in lowered:
            return TooManyBuckets("the answer would have too many buckets")
        return InvalidInput(f"the search cluster cannot carry out this query: {why}")
    if "resource_already_exists" in lowered:
        return AlreadyThere(why)
    if isinstance(error, RequestError):
        return StoreUnavailable(f"the search cluster refused what it was asked: {why}")
    if error.status_code == 401:
        return StoreUnavailable("the search cluster does not take our user with this password")
    if error.status_code == 403:
        if missing := _MISSING_RIGHTS.search(str(error.info)):
            return StoreUnavailable(f"our user of the search cluster lacks rights: {missing[1]}")
        return StoreUnavailable(f"the search cluster does not let us do that: {why}")
    if isinstance(error.status_code, int):
        return StoreUnavailable(f"the search cluster cannot do that now: {why}")
    return StoreUnavailable(f"the search cluster cannot be reached: {why}")


def _reason(error: TransportError) -> str:
    """Return the error of the cluster, with the causes behind it, in a few words."""
    info = error.info
    if not isinstance(info, dict) or "error" not in info:
        return str(info)[:_SHOWN]
    return reason_of(info["error"])


def reason_of(error: Any) -> str:
    """An error in an answer of the cluster, in a few words."""
    said: list[str] = []
    waiting = [error]
    while waiting and len(said) < 4:
        each = waiting.pop(0)
        if not isinstance(each, dict):
            said.append(str(each))
            continue
        reason = str(each.get("reason", ""))
        if missing := _MISSING_RIGHTS.search(reason):
            reason = f"our user lacks rights: {missing[1]}"
        said.append(f"{each.get('type', '')}: {reason}")
        waiting += [one.get("reason") for one in each.get("failed_shards", ())]
        waiting += [each[key] for key in ("caused_by",) if each.get(key)]
    return "; ".join(dict.fromkeys(said))[:_SHOWN]
