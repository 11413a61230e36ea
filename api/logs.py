"""Logs: JSON lines on standard error, our own, the libraries', and one for each request.

No line holds a header, a query or a path as it came: those may hold tokens and other secrets.
"""

import logging
from datetime import UTC, datetime
from typing import Literal

import msgspec
import structlog

from api.log_writer import LogWriter
from domain.errors import InvalidInput


def configure(level_name: str, writer: LogWriter) -> None:
    """Log to a writer, from a level on; raises InvalidInput for a level that there is not."""
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
    """What structlog hands its finished lines to, by a method named after their level."""

    def __init__(self, writer: LogWriter) -> None:
        self._writer = writer

    def info(self, line: str) -> None:
        """Have a line written."""
        self._writer.write(line.encode() + b"\n")

    debug = warning = error = critical = info


class _Forwarding(logging.Handler):
    """What libraries log, as lines like ours."""

    def emit(self, record: logging.LogRecord) -> None:
        structlog.get_logger(record.name).log(
            record.levelno, record.getMessage().strip(), exc_info=record.exc_info or None
        )


class AccessLine(msgspec.Struct, omit_defaults=True):
    """One request."""

    timestamp: datetime
    request_id: str
    method: str
    route: str
    """The path's template; empty where no route has the path."""
    status: int
    ms: float
    """Until the last byte was handed over."""
    bytes: int
    """Of the response body."""
    caller: str | None = None
    roles: tuple[str, ...] = ()
    position: int | None = None
    """In the log, that a write's answer includes."""
    reason: str = ""
    """Why the connection refused what it got, or why the token was refused."""
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
    """The time of a line."""
    return datetime.now(UTC)
