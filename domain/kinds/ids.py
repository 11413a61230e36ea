"""Entity ids: UUIDv7, so that ids made later sort later and index inserts stay local."""

import os
import re
from uuid import UUID

from domain.errors import InvalidInput
from domain.machine import clock

_VERSION_7 = 0x7 << 76
_VARIANT = 0b10 << 62
_CANONICAL = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_RANDOM_MASK = ~((0xF << 76) | (0b11 << 62)) & ((1 << 80) - 1)


def new_id() -> str:
    """A fresh UUIDv7 (RFC 9562, section 5.7) in canonical text form."""
    random = int.from_bytes(os.urandom(10), "big") & _RANDOM_MASK
    digits = f"{clock.now() << 80 | _VERSION_7 | _VARIANT | random:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def parse_id(text: str, where: str) -> str:
    """Canonical text of a UUID written in any case; `where` names it in the error.

    Raises InvalidInput when `text` is not a UUID of 36 characters.
    """
    canonical = text.lower()
    if _CANONICAL.fullmatch(canonical) is None:
        raise InvalidInput(f"{where} must be a UUID such as {UUID(int=0)}, got {text[:64]!r}")
    return canonical
