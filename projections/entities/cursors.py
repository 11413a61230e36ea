"""Page cursors: an opaque place in the order of one list, good for that list only."""

import string
from binascii import Error, a2b_base64, b2a_base64
from contextlib import suppress
from zlib import crc32

import msgspec

from domain.errors import InvalidInput
from domain.kinds.names import MAX_NAME_LENGTH

_DIGEST_BYTES = 4
_ID_BYTES = 16
_HEAD_BYTES = 1 + _DIGEST_BYTES + _ID_BYTES


_FOR_URL, _FROM_URL = bytes.maketrans(b"+/", b"-_"), bytes.maketrans(b"-_", b"+/")

_BACKWARD, _INCLUSIVE, _PINNED = 1, 2, 4
"""Bits of a cursor's first byte."""
_POSITION_BYTES = 8
"""Bytes of the position that a pinned cursor has behind the id: that of the past of its list."""
_ALPHABET = string.ascii_uppercase + string.ascii_lowercase + string.digits + "-_"
_MAX_CHARACTERS = (_HEAD_BYTES + _POSITION_BYTES + 4 * MAX_NAME_LENGTH) * 4 // 3 + 4
_AT_FLAGS = 6
"""The character of a cursor that has the bits: the last four of the byte behind the digest, and two
that follow them."""
_PINNED_CHARACTERS = frozenset(each for n, each in enumerate(_ALPHABET) if n & _PINNED << 2)


class Place(msgspec.Struct, frozen=True):
    """The end of a page in the order of a list: this name and id."""

    name: str
    id: str
    inclusive: bool = False
    """True if an item at the place itself belongs to the page that begins there."""


def is_pinned(text: str) -> bool:
    """True of a cursor that is of a list at a position of the log; the rest may be wrong."""
    return text[_AT_FLAGS : _AT_FLAGS + 1] in _PINNED_CHARACTERS


def position_of(text: str) -> int | None:
    """The position of the log that a cursor is of, None for the present; the rest may be wrong."""
    if not is_pinned(text):
        return None
    with suppress(ValueError, Error):
        raw = _bytes(text)
        if len(raw) >= _HEAD_BYTES:
            return _position(raw[_DIGEST_BYTES:])
    return None


def encode(place: Place, listing: str, *, backward: bool, position: int | None = None) -> bytes:
    """The cursor of a place in the list that `listing` identifies (kind and filters).

    With a position it is of the list as it was there.
    """
    flags = _BACKWARD * backward | _INCLUSIVE * place.inclusive
    end = place.name.encode()
    if position is not None:
        flags |= _PINNED
        end = position.to_bytes(_POSITION_BYTES, "big") + end
    body = bytes((flags,)) + bytes.fromhex(place.id.replace("-", "")) + end
    return _signed(body, listing)


def decode(text: str, listing: str, *, backward: bool) -> tuple[Place, int | None]:
    """The place of a cursor that came in as `before` (backward) or `after`, and its position.

    Raises InvalidInput when it is damaged, or from another list, filter or direction.
    """
    parameter = "before" if backward else "after"
    try:
        if len(text) > _MAX_CHARACTERS:
            raise ValueError("too long")
        raw = _bytes(text)
        body = raw[_DIGEST_BYTES:]
        given = text.encode("ascii").rstrip(b"=")
        if len(raw) < _HEAD_BYTES or given != _signed(body, listing):
            raise ValueError("not ours, or spelled in another way")
        flags, end = body[0], body[1 + _ID_BYTES :]
        position = _position(body)
        name = end[_POSITION_BYTES * bool(flags & _PINNED) :].decode()
    except (ValueError, Error):
        raise InvalidInput(
            f"{parameter} is not a cursor of this list: take it unchanged from `paging` of the"
            " previous response, with the same filters"
        ) from None
    if bool(flags & _BACKWARD) != backward:
        given_as = "before" if flags & _BACKWARD else "after"
        raise InvalidInput(f"{parameter} holds a cursor that belongs into {given_as}")
    digits = body[1 : 1 + _ID_BYTES].hex()
    parts = digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]
    return Place(name, "-".join(parts), bool(flags & _INCLUSIVE)), position


def _bytes(text: str) -> bytes:
    """The bytes that a cursor spells; raises ValueError and Error."""
    # More padding than is needed does no harm.
    return a2b_base64(text.encode("ascii").translate(_FROM_URL) + b"==")


def _position(body: bytes) -> int | None:
    """The position in a cursor without its digest; None where it has none."""
    start = 1 + _ID_BYTES
    if not body[0] & _PINNED:
        return None
    return int.from_bytes(body[start : start + _POSITION_BYTES], "big")


def _signed(body: bytes, listing: str) -> bytes:
    """The digest of a list and of a body, and the body, as base64 for URLs without padding.

    The digest finds mistakes: nobody gains anything by a cursor of their own making. The functions
    of `base64` take twice as long, and a cryptographic digest ten times.
    """
    digest = crc32(listing.encode() + body).to_bytes(_DIGEST_BYTES, "big")
    return b2a_base64(digest + body, newline=False).rstrip(b"=").translate(_FOR_URL)
