"""Bodies made smaller by gzip, where the client takes that and it pays."""

import re
import zlib
from collections.abc import Iterable

from anyio import CapacityLimiter, to_thread

COMPRESSED_FROM = 32 * 1024
"""Bytes of a body from which it is compressed: a smaller one is sent in about the time that
compressing takes, on all but slow networks."""
_LEVEL = 1
"""Metadata shrinks to a sixth at the fastest level, and little more at others."""
_GZIP = 16 + zlib.MAX_WBITS
_THREADS = 2
_ACCEPTED = re.compile(rb"\s*(gzip|x-gzip|\*)\s*(?:;\s*q=([01](?:\.\d{0,3})?)\s*)?", re.IGNORECASE)

_limiter = CapacityLimiter(_THREADS)


def accepts_gzip(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether the Accept-Encoding headers of a request allow gzip (RFC 9110, 12.5.3)."""
    allowed: dict[bytes, bool] = {}
    for name, value in headers:
        if name == b"accept-encoding":
            for part in value.split(b","):
                match = _ACCEPTED.fullmatch(part)
                if match is not None:
                    allowed[match[1].lower()] = match[2] is None or float(match[2]) > 0
    return allowed.get(b"gzip", allowed.get(b"x-gzip", allowed.get(b"*", False)))


async def compress(body: bytes) -> bytes:
    """The body in gzip's format; made in one of a few threads, as other requests go on."""
    return await to_thread.run_sync(_compress, body, limiter=_limiter)


def _compress(body: bytes) -> bytes:
    compressor = zlib.compressobj(_LEVEL, wbits=_GZIP)
    return compressor.compress(body) + compressor.flush()
