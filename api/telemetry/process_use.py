"""What processes take of the machine, as Linux tells it; other systems tell nothing here."""

import os
from pathlib import Path

import msgspec

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


class ProcessUse(msgspec.Struct, frozen=True):
    """What one process takes."""

    cpu_seconds: float
    """Seconds of processor time, of all its threads, since it started."""
    memory: int
    """Bytes of it that are in memory."""


def process_use(process: int) -> ProcessUse | None:
    """What a process takes; None for one that is gone, and where the system does not tell."""
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return None
    # `man 5 proc` counts fields from 1; the third is the first after the name in brackets.
    fields = text.rpartition(")")[2].split()
    user, system, pages = (int(fields[number - 3]) for number in (14, 15, 24))
    return ProcessUse((user + system) / _TICKS, pages * _PAGE)
