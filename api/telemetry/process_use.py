"""Processor time and memory of processes, as Linux reports them; empty on other systems."""

import os
from pathlib import Path

import msgspec

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


class ProcessUse(msgspec.Struct, frozen=True):
    """Processor time and memory of one process."""

    cpu_seconds: float
    """Seconds of processor time, of all its threads, since it started."""
    memory: int
    """Bytes of it that are in memory."""


def process_use(process: int) -> ProcessUse | None:
    """The use of a process; None for one that has ended, and on systems that do not report it."""
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return None
    # `man 5 proc` counts fields from 1; the third is the first after the name in brackets.
    fields = text.rpartition(")")[2].split()
    user, system, pages = (int(fields[number - 3]) for number in (14, 15, 24))
    return ProcessUse((user + system) / _TICKS, pages * _PAGE)
