"""Reads the bodies of clients of OpenLineage, which may be packed by gzip."""

import zlib

from api.answers.bodies import (
    AS_IT_IS,
    JSON_TYPES,
    MAX_BODY,
    OR_PACKED,
    check_encoding,
    check_media_type,
    read_body,
)
from api.declaring.signatures import AnyRequest
from api.errors import TooLarge
from domain.errors import InvalidInput

AT_ONCE = 65_536
"""Bytes of a body, unpacked, that the event loop looks at itself."""
MOST_VALUES = 1_500_000
"""Commas and opening brackets of a body, four times as many as 10 MB of common events have.

A value takes 100 bytes of memory however short it is, and reading them holds all threads.
"""
_GZIP = 31
"""The window of zlib with which it reads the form of gzip."""


class Packed:
    """A body as it came."""

    def __init__(self, data: bytes, *, is_packed: bool) -> None:
        self._data = data
        self._is_packed = is_packed

    def small(self) -> bytes | None:
        """The unpacked body; None for one of more than `AT_ONCE` bytes, which takes longer."""
        if not self._is_packed:
            return self._data if len(self._data) <= AT_ONCE else None
        if len(self._data) > AT_ONCE:
            return None
        try:
            return _unpacked(self._data, AT_ONCE)
        except TooLarge:
            return None

    def whole(self) -> bytes:
        """The unpacked body; raises TooLarge, and InvalidInput for what is not packed by gzip or
        may hold more than `MOST_VALUES` values.
        """
        data = _unpacked(self._data, MAX_BODY) if self._is_packed else self._data
        if len(data) > MOST_VALUES and sum(map(data.count, (b",", b"[", b"{"))) > MOST_VALUES:
            raise InvalidInput(f"a body may have {MOST_VALUES:,} commas and opening brackets")
        return data


async def read_packed(request: AnyRequest) -> Packed:
    """The body of a request; raises UnsupportedMediaType and what `read_body` raises."""
    check_media_type(request.headers.get("content-type"), JSON_TYPES)
    is_packed = check_encoding(request, OR_PACKED) not in AS_IT_IS
    return Packed(await read_body(request, encodings=OR_PACKED), is_packed=is_packed)


def _unpacked(data: bytes, most: int) -> bytes:
    """Unpack gzip data of at most `most` bytes unpacked; raises TooLarge and InvalidInput."""
    reader = zlib.decompressobj(_GZIP)
    try:
        unpacked = reader.decompress(data, most + 1)
    except zlib.error as error:
        raise InvalidInput(f"the body is not packed by gzip: {error}") from None
    if len(unpacked) > most:
        raise TooLarge(f"a request body may have {most} bytes, unpacked")
    if not reader.eof or reader.unused_data:
        raise InvalidInput("the body is not one part packed by gzip: it breaks off, or goes on")
    return unpacked
