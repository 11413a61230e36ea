"""The end of a program whose standard output nobody reads any more."""

import os
import signal
import sys
from typing import NoReturn

EXIT_UNREAD = 128 + signal.SIGPIPE
"""Exit code of a program whose output pipe was closed by its reader, as shells report it."""


def drop_output() -> None:
    """Have what is left of standard output go nowhere.

    The interpreter flushes it once more when it ends, and would end with another exit code.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def end_unread() -> NoReturn:
    """End the program with EXIT_UNREAD, without a word."""
    drop_output()
    sys.exit(EXIT_UNREAD)
