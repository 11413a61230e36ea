"""Locks of files that one process holds; a process that dies lets go of them."""

import fcntl
import time
from typing import IO

_ATTEMPTS, _PAUSE_SECONDS = 10, 0.02


def take(file: IO[str]) -> bool:
    """Lock an open file until it is closed; False while another process holds the lock."""
    # More than one try: `is_held` holds the lock for an instant to look at it.
    for _ in range(_ATTEMPTS):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            time.sleep(_PAUSE_SECONDS)
        else:
            return True
    return False


def is_held(file: IO[str]) -> bool:
    """Tell whether a process holds the lock of an open file, which the caller closes at once."""
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    return False
