"""Logs: JSON lines on standard error, of this program, of libraries, and one for each request.

No line holds a header, a query or a path as it came, because these may hold secrets.
"""

import json
import logging
from datetime import UTC, datetime
from typing import Literal

import msgspec

from api.telemetry.log_writer import LogWriter
from domain.errors import InvalidInput


def configure(level_name: str, writer: LogWriter) -> None:
    """Log to a writer whatever has at least a level; raises InvalidInput for an unknown level.

    Of libraries no line below a warning is written.
    """
    level = logging.getLevelNamesMapping().get(level_name.upper())
    if level is None:
        raise InvalidInput("CATALOG_LOG_LEVEL must be a level such as INFO or WARNING")
    logging.basicConfig(handlers=[_Lines(writer)], level=max(level, logging.WARNING), force=True)
    logging.getLogger("catalog").setLevel(level)


class _Lines(logging.Handler):
    """Formats each record as a JSON line, with the `extra` of its call."""

    def __init__(self, writer: LogWriter) -> None:
        super().__init__()
        self._writer = writer
        self._formatter = logging.Formatter()

    def emit(self, record: logging.LogRecord) -> None:
        """Have a line written."""
        line = {
            **{name: value for name, value in vars(record).items() if name not in _OF_EVERY_RECORD},
            "event": record.getMessage().strip(),
            "level": record.levelname.lower(),
            "timestamp": f"{datetime.fromtimestamp(record.created, UTC):%Y-%m-%dT%H:%M:%S.%fZ}",
        }
        if record.exc_info:
            line["exception"] = self._formatter.formatException(record.exc_info)
        # The library's own JSON, because it can write a path that is not UTF-8.
        self._writer.write(json.dumps(line, default=str).encode() + b"\n")


_OF_EVERY_RECORD = frozenset(vars(logging.makeLogRecord({})))
"""The attributes of a record that are not from `extra`."""


class AccessLine(msgspec.Struct, omit_defaults=True):
    """One request as the access log tells it."""

    timestamp: datetime
    request_id: str
    method: str
    route: str
    """The path's template; empty where no route has the path."""
    status: int
    ms: float
    """Milliseconds until the last byte was handed to the connection."""
    bytes: int
    """Bytes of the response body that were sent."""
    caller: str | None = None
    roles: tuple[str, ...] = ()
    position: int | None = None
    """The position in the log that the answer to a write includes."""
    client: str = ""
    """Address of the client; behind trusted proxies the one that they name."""
    reason: str = ""
    """Reason of a refusal, of the connection, the token or the caller; None if there was none."""
    event: Literal["request", ""] = ""
    level: Literal["info", ""] = ""


_encoder = msgspec.json.Encoder()


class AccessLog:
    """Writes a line for each request, or none at all."""

    def __init__(self, writer: LogWriter, *, wanted: bool) -> None:
        self._writer = writer
        self.wanted = wanted

    def write(self, line: AccessLine) -> None:
        """Have a line written."""
        line.event, line.level = "request", "info"
        self._writer.write(_encoder.encode(line) + b"\n")


def now() -> datetime:
    """The present time in UTC, for the timestamp of a line."""
    return datetime.now(UTC)
