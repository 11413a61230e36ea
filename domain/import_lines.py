"""What a line of an import says: the kind, id and draft of one entity.

Reading a line needs no log, so it may be done by another process than the one that appends.
"""

from typing import Any

import msgspec

from domain import drafts, json_input
from domain.drafts import Draft
from domain.errors import InvalidInput, shown
from domain.ids import parse_id
from domain.registry import KINDS


class ImportLine(msgspec.Struct, array_like=True):
    """The entity that a line describes."""

    kind: str
    id: str | None
    """The id that the entity gets if it is new; None when any will do."""
    draft: Draft


ReadAhead = ImportLine | str | None
"""A line as another process has read it, or why it is bad; None when it has to be read again.

That is so where more can be said of a line only beside the log.
"""


def read_line(line: bytes) -> ImportLine:
    """Decode and check a line as far as it goes without the log; raises InvalidInput."""
    values = json_input.decode(line, dict[str, Any], "the line")
    name = values.pop("entityType", None)
    if not isinstance(name, str) or name not in KINDS:
        raise InvalidInput(f"entityType must be one of {', '.join(KINDS)}, got {shown(name)}")
    entity_id, fqn = values.pop("id", None), values.pop("fullyQualifiedName", None)
    for key, value in (("id", entity_id), ("fullyQualifiedName", fqn)):
        if value is not None and not isinstance(value, str):
            raise InvalidInput(f"{key} must be a string, got {shown(value)}")
    entity_id = parse_id(entity_id, "id") if entity_id else None
    draft = drafts.draft(KINDS[name], values)
    draft.fqn = fqn
    return ImportLine(name, entity_id, draft)


def read_ahead(line: bytes) -> ReadAhead:
    """Read a line so that the result can be sent to the process that appends."""
    try:
        read = read_line(line)
    except InvalidInput as error:
        return error.message
    draft = drafts.finished(KINDS[read.kind], read.draft)
    return None if draft is None else ImportLine(read.kind, read.id, draft)
