"""Logs: JSON lines on standard error, of this program, of libraries, and one for each request.

No line holds a header, a query or a path as it came, because these may hold secrets.
"""

import logging
from datetime import UTC, datetime
from typing import Literal

import msgspec
import structlog

from api.log_writer import LogWriter
from domain.errors import InvalidInput


def configure(level_name: str, writer: LogWriter) -> None:
    """Log to a writer whatever has at least a level; raises InvalidInput for an unknown level."""
    level = logging.getLevelNamesMapping().get(level_name.upper())
    if level is None:
        raise InvalidInput("CATALOG_LOG_LEVEL must be a level such as INFO or WARNING")
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=lambda *names: _Logger(writer),
    )
    logging.basicConfig(handlers=[_Forwarding()], level=max(level, logging.WARNING), force=True)


class _Logger:
    """Takes finished lines from structlog, which calls a method named after their level."""

    def __init__(self, writer: LogWriter) -> None:
        self._writer = writer

    def info(self, line: str) -> None:
        """Have a line written."""
        self._writer.write(line.encode() + b"\n")

    debug = warning = error = critical = info


class _Forwarding(logging.Handler):
    """Writes what libraries log as JSON lines."""

    def emit(self, record: logging.LogRecord) -> None:
        structlog.get_logger(record.name).log(
            record.levelno, record.getMessage().strip(), exc_info=record.exc_info or None
        )


class AccessLine(msgspec.Struct, omit_defaults=True):
    """What the access log says of one request."""

    timestamp: datetime
    request_id: str
    method: str
    route: str
    """The path's template; empty where no route has the path."""
    status: int
    ms: float
    """Milliseconds until the last byte was handed to the connection."""
    bytes: int
    """How many bytes of the response body were sent."""
    caller: str | None = None
    roles: tuple[str, ...] = ()
    position: int | None = None
    """The position in the log that the answer to a write includes."""
    reason: str = ""
    """Why the connection refused the request, or why the token was refused."""
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
