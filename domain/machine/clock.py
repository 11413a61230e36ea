"""The clock of the machine."""

import time


def now() -> int:
    """The time in milliseconds since the Unix epoch."""
    return time.time_ns() // 1_000_000
