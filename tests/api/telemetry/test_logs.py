"""Logs: one JSON line for each record, of this program and of libraries."""

import json
import logging
import os
from asyncio import CancelledError
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from api.telemetry.logs import LogWriter, configure
from domain.errors import InvalidInput

Said = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def said(tmp_path: Path) -> Iterator[Said]:
    """Configures logging at INFO; gives the lines written until then, and ends the writing."""
    root, ours = logging.getLogger(), logging.getLogger("catalog")
    before = (root.handlers[:], root.level, ours.level)
    file = tmp_path / "log"
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT)
    writer = LogWriter(descriptor, lambda: None)
    writer.start()
    configure("info", writer)

    def lines() -> list[dict[str, Any]]:
        writer.close()
        return [json.loads(line) for line in file.read_text().splitlines()]

    yield lines
    os.close(descriptor)
    root.handlers[:], root.level, ours.level = before[0], before[1], before[2]


def test_record_is_a_line_with_what_was_given(said: Said) -> None:
    logging.getLogger("catalog.x").info(
        "keys changed", extra={"keys": ["a"], "file": Path("/\udcff")}
    )

    [line] = said()

    assert line.pop("timestamp").endswith("Z")
    assert line == {"event": "keys changed", "level": "info", "keys": ["a"], "file": "/\udcff"}


def test_exception_is_within_the_line(said: Said) -> None:
    try:
        raise ValueError("broken")
    except ValueError as error:
        logging.getLogger("catalog.x").error("failed", exc_info=error)

    [line] = said()

    assert line["exception"].endswith("ValueError: broken")
    assert "exc_info" not in line


def test_cancelled_request_is_no_fault(said: Said) -> None:
    logging.getLogger("uvicorn.error").error("Exception in ASGI", exc_info=CancelledError("end"))

    assert said() == []


def test_libraries_write_warnings_and_this_program_its_level(said: Said) -> None:
    library, ours = logging.getLogger("library"), logging.getLogger("catalog.x")
    for logger in (library, ours):
        logger.debug("%s", "debug")
        logger.info("of %s", logger.name)
        logger.warning("from %s", logger.name)

    assert [line["event"] for line in said()] == ["from library", "of catalog.x", "from catalog.x"]


def test_unknown_level_is_refused() -> None:
    with pytest.raises(InvalidInput, match="such as INFO"):
        configure("loud", LogWriter(1, lambda: None))
