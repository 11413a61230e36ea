"""Bodies made smaller by gzip, where the client takes that and it pays."""

import re
import zlib
from collections.abc import Generator, Iterable
from contextlib import closing
from functools import partial

from api.callers.work_queue import WorkQueue

COMPRESSED_FROM = 32 * 1024
"""Bytes of a body from which it is compressed: a smaller one is sent in about the time that
compressing takes, on all but slow networks."""
_LEVEL = 1
"""Metadata shrinks to a sixth at the fastest level, and little more at others."""
_GZIP = 16 + zlib.MAX_WBITS
_READABLE = zlib.Z_SYNC_FLUSH
_THREADS = 2
_PREFERENCE = re.compile(
    rb"\s*(gzip|x-gzip|identity|\*)\s*(?:;\s*q=([01](?:\.\d{0,3})?)\s*)?", re.IGNORECASE
)

_turns = WorkQueue(_THREADS)
"""Turns of compression; the number of connections bounds how many answers wait for one."""


def accepts_gzip(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """True if the Accept-Encoding headers of a request allow gzip, and prefer nothing to it.

    RFC 9110, 12.5.3: a body as it is goes without saying, and is preferred where its weight is
    the larger one.
    """
    weights: dict[bytes, float] = {}
    for name, value in headers:
        if name == b"accept-encoding":
            for part in value.split(b","):
                match = _PREFERENCE.fullmatch(part)
                if match is not None:
                    weights[match[1].lower()] = 1.0 if match[2] is None else float(match[2])
    gzip = weights.get(b"gzip", weights.get(b"x-gzip", weights.get(b"*", 0.0)))
    return gzip > 0 and gzip >= weights.get(b"identity", 0.0)


async def compress(body: bytes, caller: str) -> bytes:
    """The body in gzip's format; made in one of a few threads, when it is the caller's turn."""
    return await _turns.go_on(caller, partial(zlib.compress, body, _LEVEL, _GZIP))


def compressed(chunks: Generator[bytes]) -> Generator[bytes]:
    """The chunks in gzip's format; each can be read by a client as soon as it has come.

    An empty chunk, which is not sent, stays one.
    """
    compressor = zlib.compressobj(_LEVEL, wbits=_GZIP)
    with closing(chunks):
        for chunk in chunks:
            yield compressor.compress(chunk) + compressor.flush(_READABLE) if chunk else b""
        yield compressor.flush()
