"""Keeps the processors from sleeping while a server is measured."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_BUSY = "import os; os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))\nwhile True: pass"


@contextmanager
def awake() -> Iterator[None]:
    """Keep every processor busy with a process of idle priority until the block ends.

    A client that is quicker than the server sleeps between two answers, and its processor with it.
    On a virtual machine the server then spends 10 to 30 us of each answer on waking that processor,
    and next to nothing where the server is as quick as the client: the ratio of the two would be
    that of the machine's sleep. What is measured takes the processors from these processes at once.
    """
    command = [sys.executable, "-c", _BUSY]
    busy = [subprocess.Popen(command) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for each in busy:
            each.kill()
            each.wait()
