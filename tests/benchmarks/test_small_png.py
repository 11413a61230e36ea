"""Pictures with a table of colours show what they showed before."""

import struct
import zlib

import numpy as np
import pytest

from benchmarks.small_png import Pixels, chunk, chunks, guess, smaller


def png(pixels: Pixels) -> bytes:
    """A PNG in which each filter is used, row by row."""
    height, width, _ = pixels.shape
    above, data = bytes(3 * width + 3), b""
    for number, row in enumerate(pixels):
        line, filtered = bytes(3) + row.tobytes(), number % 5
        data += bytes([filtered]) + bytes(
            (line[at] - guess(filtered, line[at - 3], above[at], above[at - 3])) & 255
            for at in range(3, len(line))
        )
        above = line
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(data)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*each) for each in parts)


def shown(picture: bytes, width: int, height: int) -> Pixels:
    """The pixels of a picture with a table of colours."""
    held = dict(chunks(picture))
    colours = np.frombuffer(held[b"PLTE"], np.uint8).reshape(-1, 3)
    lines = np.frombuffer(zlib.decompress(held[b"IDAT"]), np.uint8).reshape(height, width + 1)
    return colours[lines[:, 1:]]


@pytest.mark.parametrize("colours", [2, 200])
def test_picture_of_few_colours_is_the_same(colours: int) -> None:
    random = np.random.default_rng(colours)
    table = random.integers(0, 256, (colours, 3), np.uint8)
    pixels = table[random.integers(0, colours, (10, 30))]

    assert (shown(smaller(png(pixels)), 30, 10) == pixels).all()


def test_near_colours_of_many_become_one() -> None:
    pixels = np.zeros((20, 60, 3), np.uint8)
    pixels[..., 0] = np.arange(1200).reshape(20, 60) // 5
    pixels[..., 1] = np.arange(1200).reshape(20, 60) % 5

    result = shown(smaller(png(pixels)), 60, 20)

    assert abs(result.astype(int) - pixels).max() <= 8


def test_picture_of_another_form_is_refused() -> None:
    grey = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)

    with pytest.raises(ValueError, match="8 bits each"):
        smaller(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", grey))
