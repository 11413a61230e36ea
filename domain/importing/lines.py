"""Lines of an import: each is the draft of one entity.

Reading a line needs no log, so it may be done by another process than the one that appends.
"""

from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

import msgspec

from domain.errors import InvalidInput, shown
from domain.event_store.transfer import in_batches
from domain.kinds.ids import parse_id
from domain.kinds.registry import KINDS
from domain.patches import json_input
from domain.requests import drafts
from domain.requests.drafts import Draft
from domain.requests.references import Name, add_looked_up

BATCH_LINES = 1_000
"""The most lines in one transaction."""
BATCH_BYTES = 16_000_000
"""Bytes of lines at which a transaction ends, although it has fewer."""

MAX_LINE = 10_000_000
"""Bytes of a line, as of the body of a request."""

NumberedLine = tuple[int, bytes]
"""The number of a line, from 1, and its bytes."""

ReadAhead = Draft | str | None
"""A line as another process has read it, or why it is bad; None when it has to be read again.

A line has to be read again where only the log can tell more about it.
"""


class LinesRead(msgspec.Struct, array_like=True):
    """Some lines as another process has read them."""

    lines: list[ReadAhead] = []
    """The result for each line; empty where no line was read."""
    names: list[Name] = []
    """The names by which the lines are decided, each once; see `references.add_looked_up`."""
    ids: list[str] = []
    """The ids by which the lines are decided, each once."""


class Chunk(msgspec.Struct):
    """Lines of a file that follow each other."""

    lines: list[NumberedLine]
    end: int = 0
    """Number of bytes of the file that were taken when its last line was."""
    read: LinesRead = msgspec.field(default_factory=LinesRead)
    """The lines as another process has read them; empty when this process is to read them."""


def read_line(line: bytes) -> Draft:
    """Decode and check a line as far as it goes without the log; raises InvalidInput."""
    if len(line) > MAX_LINE:
        raise InvalidInput(f"a line may have {MAX_LINE} bytes")
    values, most_values = json_input.decode_counted(line, dict[str, Any], "the line")
    # Some kind has a key `entityType` of its own.
    key = "kind" if "kind" in values else "entityType"
    name = values.pop(key, None)
    if not isinstance(name, str) or name not in KINDS:
        raise InvalidInput(f"{key} must be one of {', '.join(KINDS)}, got {shown(name)}")
    entity_id, fqn = values.pop("id", None), values.pop("fullyQualifiedName", None)
    for key, value in (("id", entity_id), ("fullyQualifiedName", fqn)):
        if value is not None and not isinstance(value, str):
            raise InvalidInput(f"{key} must be a string, got {shown(value)}")
    entity_id = parse_id(entity_id, "id") if entity_id else None
    draft = drafts.draft(KINDS[name], values, most_values=most_values)
    draft.fqn, draft.id = fqn, entity_id
    return draft


def read_ahead(lines: Iterable[bytes]) -> bytes:
    """Read lines for the process that appends, which decodes the result by `decode_read`."""
    names, ids = set[Name](), set[str]()
    read = [_sent(line, names, ids) for line in lines]
    return _encode(LinesRead(read, sorted(names), sorted(ids)))


decode_read = msgspec.msgpack.Decoder(LinesRead).decode
"""Decodes the message of `read_ahead` about some lines."""

_encode = msgspec.msgpack.Encoder().encode


def _sent(line: bytes, names: set[Name], ids: set[str]) -> ReadAhead:
    """Return the message about a line; adds the names and the ids by which the line is decided."""
    try:
        draft = read_line(line)
    except InvalidInput as error:
        return error.message
    kind = KINDS[draft.kind]
    # The draft that is sent has references by qualified names in place of bare ones.
    sent = drafts.sent(kind, draft)
    add_looked_up(kind, sent or draft, names, ids)
    return sent


def bounded_lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file without their ends; of one that is too long, its beginning.

    That beginning is longer than MAX_LINE, so that whoever reads the line refuses it.
    """
    while line := file.readline(MAX_LINE + 2):
        rest = line
        while len(rest) > MAX_LINE and not rest.endswith(b"\n"):
            rest = file.readline(MAX_LINE + 2)
        yield line.rstrip(b"\r\n")


def batches(
    lines: Iterable[bytes], size: int = BATCH_LINES, max_bytes: int = BATCH_BYTES
) -> Iterator[list[NumberedLine]]:
    """Numbered, non-blank lines in groups that end at `size` lines or at `max_bytes`."""
    numbered = ((number, line) for number, line in enumerate(lines, start=1) if line.strip())
    return in_batches(numbered, lambda each: len(each[1]), size, max_bytes)


def transactions(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """Chunks put together until they have BATCH_LINES or BATCH_BYTES."""
    whole, size = Chunk([]), 0
    for chunk in chunks:
        whole.lines += chunk.lines
        whole.read.lines += chunk.read.lines
        whole.read.names += chunk.read.names
        whole.read.ids += chunk.read.ids
        whole.end = chunk.end
        size += sum(len(line) for _, line in chunk.lines)
        if len(whole.lines) >= BATCH_LINES or size >= BATCH_BYTES:
            yield whole
            whole, size = Chunk([]), 0
    if whole.lines:
        yield whole
