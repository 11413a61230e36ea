"""Signals end a process with exit code 0; a second Ctrl-C ends work anywhere."""

import os
import signal
import subprocess
import sys

import pytest

from api.processes.termination import Interruption

_SIGNALLED_AT_THE_END = """
import os, signal, sys
from api.processes.termination import Termination

class Last:
    def __del__(self, kill=os.kill, own=os.getpid(), number=int(sys.argv[1]), write=os.write):
        kill(own, number)
        write(1, b"still here")

last = Last()
termination = Termination()
termination.install()
os.kill(os.getpid(), signal.SIGTERM)
termination.check()
"""
"""Its last object is taken down when Python has given up the handlers of signals."""


def interrupt() -> None:
    """Interrupt this process as Ctrl-C does."""
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("number", [signal.SIGALRM, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signal_while_the_interpreter_ends_changes_no_exit_code(number: signal.Signals) -> None:
    script = [sys.executable, "-c", _SIGNALLED_AT_THE_END, str(int(number))]
    done = subprocess.run(script, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (0, "still here", "")


def test_work_goes_on_until_it_waits() -> None:
    with Interruption() as interruption:
        interrupt()

        with pytest.raises(KeyboardInterrupt), interruption.interruptible():
            pytest.fail("the block was entered")


def test_waiting_is_interrupted() -> None:
    with (
        Interruption() as interruption,
        pytest.raises(KeyboardInterrupt),
        interruption.interruptible(),
    ):
        interrupt()


def test_second_interrupt_ends_work_anywhere() -> None:
    with Interruption():
        interrupt()
        with pytest.raises(KeyboardInterrupt):
            interrupt()


def test_interrupts_are_as_before_afterwards() -> None:
    # Shells have what they start in the background ignore interrupts.
    inherited = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with Interruption() as interruption, interruption.interruptible():
            pass

        with pytest.raises(KeyboardInterrupt):
            interrupt()
    finally:
        signal.signal(signal.SIGINT, inherited)
