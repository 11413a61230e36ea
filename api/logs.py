"""Logs: JSON lines on standard error, our own, the libraries', and one for each request.

No line holds a header, a query or a path as it came: those may hold tokens and other secrets.
"""

import logging
import os
import sys
from datetime import UTC, datetime
from typing import Literal

import msgspec
import structlog

from domain.errors import InvalidInput

_STDERR = 2


def configure(level_name: str) -> None:
    """Log from a level on; raises InvalidInput for a level that there is not."""
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
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    logging.basicConfig(handlers=[_Forwarding()], level=max(level, logging.WARNING), force=True)


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
    """Why the connection refused the request before anything was asked."""
    event: Literal["request", ""] = ""
    level: Literal["info", ""] = ""


_encoder = msgspec.json.Encoder()


class AccessLog:
    """Writes a line for each request, or none at all."""

    def __init__(self, wanted: bool) -> None:
        self.wanted = wanted

    def write(self, line: AccessLine) -> None:
        """Write a line; one call, so that lines of several threads and processes do not mix."""
        line.event, line.level = "request", "info"
        try:
            os.write(_STDERR, _encoder.encode(line) + b"\n")
        except OSError:
            # Nobody reads the log any more; requests are answered all the same.
            self.wanted = False


def now() -> datetime:
    """The time of a line."""
    return datetime.now(UTC)
