"""The signals by which programs are told to reopen their logs: the commands have none to reopen."""

import signal

_SIGNALS = (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


def ignore_rotation_signals() -> None:
    """Ignore these signals in this process, which are fatal by default.

    One that has a handler keeps it: whoever embeds a command may have a use for it.
    """
    for number in _SIGNALS:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, signal.SIG_IGN)
