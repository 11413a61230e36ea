"""Fully qualified names: parts joined with dots; a part that holds a dot or a quote is quoted.

A quoted part stands in double quotes, with each double quote inside it doubled, so that
every name of 1 to 256 characters has exactly one spelling and splits back into itself.
"""

from collections.abc import Sequence
from hashlib import blake2b

from domain.errors import InvalidInput

MAX_NAME_LENGTH = 256
TABLE_PARTS = 4
"""Parts of the qualified name of a table, which is that of its service, database and schema too."""


def check_name(name: str, where: str = "name") -> str:
    """Return `name` unchanged, or raise InvalidInput saying what is wrong with it."""
    if not 1 <= len(name) <= MAX_NAME_LENGTH:
        raise InvalidInput(f"{where} must have 1 to {MAX_NAME_LENGTH} characters, got {len(name)}")
    if name.isprintable():
        return name
    for position, character in enumerate(name):
        if character < " " or "\x7f" <= character <= "\x9f" or "\ud800" <= character <= "\udfff":
            raise InvalidInput(
                f"{where} must not hold control characters,"
                f" got {character!r} at character {position + 1}"
            )
    return name


def quote(name: str) -> str:
    """One part of a qualified name as it is written in it."""
    if "." in name or '"' in name:
        return '"' + name.replace('"', '""') + '"'
    return name


def join(parts: Sequence[str]) -> str:
    """The qualified name of plain (unquoted) parts."""
    return ".".join(map(quote, parts))


def child(parent_fqn: str | None, name: str) -> str:
    """The qualified name of `name` under a parent, or at the root when there is none."""
    return quote(name) if parent_fqn is None else f"{parent_fqn}.{quote(name)}"


def name_key(kind: str, fqn: str) -> bytes:
    """A key of 16 bytes for a qualified name, which may be longer than a database's keys."""
    return blake2b(f"{kind}\0{fqn}".encode("utf-8", "surrogatepass"), digest_size=16).digest()


def split(fqn: str) -> list[str]:
    """The plain parts of a qualified name; the inverse of `join`.

    Raises InvalidInput with the column where the name breaks the quoting rules.
    """
    parts: list[str] = []
    at = 0
    while True:
        if fqn[at : at + 1] == '"':
            part, at = _quoted(fqn, at)
        else:
            end = fqn.find(".", at)
            end = len(fqn) if end < 0 else end
            part, at = fqn[at:end], end
            if '"' in part:
                raise _broken(fqn, at - len(part) + part.index('"'), "a part with quotes is quoted")
        if not part:
            raise _broken(fqn, at, "a part is empty")
        parts.append(part)
        if at == len(fqn):
            return parts
        if fqn[at] != ".":
            raise _broken(fqn, at, "a dot is expected")
        at += 1


def _quoted(fqn: str, start: int) -> tuple[str, int]:
    """The quoted part that opens at `start`, and the place after its closing quote."""
    at = start + 1
    while True:
        end = fqn.find('"', at)
        if end < 0:
            raise _broken(fqn, start, "the quote is never closed")
        if fqn[end + 1 : end + 2] != '"':
            return fqn[start + 1 : end].replace('""', '"'), end + 1
        at = end + 2


def _broken(fqn: str, at: int, why: str) -> InvalidInput:
    return InvalidInput(f"{fqn[:80]!r} is not a qualified name: {why} at character {at + 1}")
