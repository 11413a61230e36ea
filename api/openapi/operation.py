"""What the document says of one operation."""

from collections.abc import Mapping

import msgspec

from api.answers.responses import JSON


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """What a route takes and answers; `{Kind}`, `{Kinds}`, `{kind}` and `{kinds}` are filled in."""

    id: str
    summary: str
    about: str = ""
    path: str | None = None
    """The path as the document shows it, where that of the route says less."""
    answers: Mapping[int, str | None]
    """Status -> name of the component schema, empty for a text; None for an answer without body."""
    conditional: bool = False
    """Whether a 304 without a body may take the place of the answer."""
    errors: tuple[int, ...] = ()
    """Statuses with the error body, beside GUARD_ERRORS."""
    body: str | None = None
    """Name of the component schema of the request body."""
    body_types: tuple[str, ...] = (JSON,)
    takes: tuple[str, ...] = ()
    """Names, in REQUEST_HEADERS or CONDITIONS_OF_READS, of headers that the request may have."""
    headers: tuple[str, ...] = ()
    """Names, in RESPONSE_HEADERS, of the headers that every answer has."""
    media_type: str = JSON
    lines: str | None = None
    """Name of the component schema of a line, where the answer may be had as NDJSON."""
