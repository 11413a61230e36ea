"""Pictures of pages in fewer bytes: as PNG with a table of at most 256 colours."""

import struct
import zlib
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_MOST_COLOURS = 256

Pixels = npt.NDArray[np.uint8]


def smaller(picture: bytes) -> bytes:
    """A PNG of red, green and blue, 8 bits each, with a table of colours in place of these.

    Where there are too many colours, near ones become one.
    """
    held = dict[bytes, bytes]()
    for kind, data in chunks(picture):
        held[kind] = held.get(kind, b"") + data
    width, height, *form = struct.unpack(">IIBBBBB", held[b"IHDR"])
    if form != [8, 2, 0, 0, 0]:
        raise ValueError("the picture is none of red, green and blue, 8 bits each")
    rows = np.frombuffer(zlib.decompress(held[b"IDAT"]), np.uint8).reshape(height, -1)
    pixels = _unfiltered(rows, width).reshape(-1, 3)
    for bits in range(8):
        # White stays white, and black black.
        coarse = ((pixels >> bits).astype(int) * 255 // (255 >> bits)).astype(np.uint8)
        colours, numbers = np.unique(coarse, axis=0, return_inverse=True)
        if len(colours) <= _MOST_COLOURS:
            break
    lines = np.zeros((height, width + 1), np.uint8)
    lines[:, 1:] = numbers.reshape(height, width)
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    parts = ((b"IHDR", header), (b"PLTE", colours.tobytes()))
    data = zlib.compress(lines.tobytes(), 9)
    return _SIGNATURE + b"".join(chunk(*each) for each in (*parts, (b"IDAT", data), (b"IEND", b"")))


def chunks(picture: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The name and the data of each part of a PNG."""
    at = len(_SIGNATURE)
    while at < len(picture):
        (size,) = struct.unpack_from(">I", picture, at)
        yield picture[at + 4 : at + 8], picture[at + 8 : at + 8 + size]
        at += size + 12


def chunk(kind: bytes, data: bytes) -> bytes:
    """A part of a PNG."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _unfiltered(rows: Pixels, width: int) -> Pixels:
    """The pixels of rows that each begin with the number of their filter."""
    above = bytes(3 * width + 3)
    lines = bytearray()
    for row in rows:
        filtered = int(row[0])
        line = bytearray(3) + row[1:].tobytes()
        for at in range(3, len(line)):
            expected = guess(filtered, line[at - 3], above[at], above[at - 3])
            line[at] = (line[at] + expected) & 255
        lines += line[3:]
        above = bytes(line)
    return np.frombuffer(lines, np.uint8)


def guess(filtered: int, left: int, up: int, corner: int) -> int:
    """Return what a filter expects of a byte, by the pixels left of it, above, and both."""
    if filtered < 3:
        return (0, left, up)[filtered]
    if filtered == 3:
        return (left + up) // 2
    far_left, far_up, far_corner = abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)
    if far_left <= far_up and far_left <= far_corner:
        return left
    return up if far_up <= far_corner else corner
