"""Ctrl-C ends work where it waits, and nowhere else; a second one ends it anywhere."""

import os
import signal

import pytest

from api.processes.termination import Interruption


def interrupt() -> None:
    """Interrupt this process as Ctrl-C does."""
    os.kill(os.getpid(), signal.SIGINT)


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
