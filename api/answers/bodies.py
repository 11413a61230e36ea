"""Reads the bodies of requests as bytes, and checks their media type and size."""

import re
from typing import Any

from litestar import Request
from litestar.types import Receive

from api.callers.limits import Places
from api.callers.permissions import Principal
from api.errors import ClientLeft, TooLarge, UnsupportedMediaType

MAX_BODY = 10_000_000
MAX_SEARCH_BODY = 65_536
"""Bytes that the body of a search may have."""
MAX_BODY_BYTES = 64_000_000
"""Bytes that the bodies of one caller's requests may have together, while the requests last."""
MAX_BODY_BYTES_OF_ALL = 256_000_000
"""Bytes that the bodies of all callers' requests may have together."""
JSON_TYPES = ("application/json",)
PATCH_TYPES = ("application/json-patch+json", "application/json")
YAML_TYPES = ("application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml")
"""Media types of YAML: that of RFC 9512, and those before it, of which OpenMetadata's client has
the first."""
TEXT_TYPES = ("text/plain", *JSON_TYPES)
"""Media types of a text that is no JSON; OpenMetadata's client calls every body JSON."""
AS_IT_IS = ("identity",)
"""Encodings of a body that a route takes as it is."""
OR_PACKED = (*AS_IT_IS, "gzip", "x-gzip")
"""Encodings of a body that a route unpacks itself."""

_CHARSET = re.compile(r"charset *= *\"?utf-?8\"?", re.IGNORECASE)


class BodyBytes:
    """The bytes of the body of one request, as a part of those that its caller may have.

    They are taken before the body is read, as a body that is still coming fills memory too, and
    given back when the request ends, however it ends.
    """

    def __init__(self, places: Places) -> None:
        self._places = places
        self._caller = ""
        self._size = 0

    def take(self, caller: str, size: int) -> None:
        """Take `size` of the bytes that a caller may have; raises what `Places.take` raises."""
        if size:
            self._places.take(caller, size)
            self._caller, self._size = caller, size

    def keep(self, size: int) -> None:
        """Give back all but `size` of the bytes that were taken."""
        if size < self._size:
            self._places.give_back(self._caller, self._size - size)
            self._size = size


def check_media_type(given: str | None, allowed: tuple[str, ...]) -> str:
    """The media type of a Content-Type, the first that is allowed where none is given.

    Raises UnsupportedMediaType for one that is not allowed.
    """
    if given is None:
        return allowed[0]
    media_type, _, parameters = given.partition(";")
    media_type = media_type.strip().lower()
    known = media_type in allowed
    if not known or (parameters.strip() and not _CHARSET.fullmatch(parameters.strip())):
        raise UnsupportedMediaType(
            f"Content-Type must be {' or '.join(allowed)}, in UTF-8, got {given[:80]!r}"
        )
    return media_type


def check_encoding(request: Request[Any, Any, Any], allowed: tuple[str, ...]) -> str:
    """The Content-Encoding of a request; raises UnsupportedMediaType for one not allowed."""
    given = request.headers.get("content-encoding", AS_IT_IS[0])
    encoding = given.strip().lower()
    if encoding not in allowed:
        raise UnsupportedMediaType(
            f"Content-Encoding must be {' or '.join(allowed)}, got {given[:80]!r}"
        )
    return encoding


async def read_body(
    request: Request[Any, Any, Any],
    most: int = MAX_BODY,
    encodings: tuple[str, ...] = AS_IT_IS,
) -> bytes:
    """The whole body of a request, of at most `most` bytes, in one of some encodings.

    The bytes that are announced, or `most` where nothing says how many there are, are first taken
    of those that the caller may have; the edge gives them back when the request ends. Callers who
    are not signed in share theirs. Raises TooManyRequests when the caller has too few left,
    Overloaded when all callers together have, UnsupportedMediaType, TooLarge, and ClientLeft when a
    part of the body never comes.
    """
    check_encoding(request, encodings)
    announced = _announced(request, most)
    if announced > most:
        raise TooLarge(f"a request body may have {most} bytes")
    caller = request.scope.get("user")
    taken: BodyBytes = request.scope["state"]["body"]
    taken.take(caller.name if isinstance(caller, Principal) else "", announced)
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await request.receive()
        if message["type"] != "http.request":
            raise ClientLeft("the request did not come whole")
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > announced:
            raise TooLarge(f"a request body may have {announced} bytes")
        chunks.append(chunk)
        if not message.get("more_body", False):
            taken.keep(size)
            return b"".join(chunks)


def _announced(request: Request[Any, Any, Any], most: int) -> int:
    """The length of a request's body in bytes, as its head announces it."""
    headers = request.scope["headers"]
    length = next((value for name, value in headers if name == b"content-length"), b"")
    if length.isdigit():
        return int(length)
    return most if any(name == b"transfer-encoding" for name, _ in headers) else 0


async def has_left(receive: Receive) -> bool:
    """True if the client of a request has closed its connection; drops the remaining body.

    Each message is asked for without waiting for it, which a task with a timeout would take twenty
    times as long for.
    """
    while True:
        receiving = receive().__await__()
        try:
            next(receiving)
        except StopIteration as received:
            if received.value["type"] == "http.disconnect":
                return True
        else:
            receiving.close()
            return False
