"""How deep JSON is nested, found before it is decoded, so that no input is costly."""

import re

_STRUCTURE = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)


def deeper_than(data: bytes, limit: int) -> int | None:
    """Offset of the first bracket at more than `limit` levels; None when there is none."""
    if data.count(b"[") + data.count(b"{") <= limit:
        return None
    depth = 0
    for token in _STRUCTURE.finditer(data):
        if token[0] in (b"{", b"["):
            depth += 1
            if depth > limit:
                return token.start()
        elif token[0] in (b"}", b"]"):
            depth -= 1
    return None
