"""Has the processes of pytest-xdist say what tests come to, and no more.

That a test starts, and that what is done before and after it succeeds, is not shown. With ten
thousand tests both sides would work for some seconds to pass it on.
"""

from typing import Any, Protocol

import pytest


class Speaker(Protocol):
    """The plug-in of xdist by which a process speaks to the one that hands tests out."""

    def sendevent(self, name: str, **content: Any) -> None:
        """Send a message."""


def shows_all(config: pytest.Config) -> bool:
    """Return True if a run shows or writes more than what each test came to."""
    given = config.option
    return bool(given.verbose > 0 or given.durations is not None or given.xmlpath)


def is_needed(name: str, content: dict[str, Any]) -> bool:
    """Return True for a message without which a run would show something else."""
    if name == "testreport":
        report = content["data"]
        return bool(report["when"] == "call" or report["outcome"] != "passed")
    return name != "logstart"


def leave_out(speaker: Speaker) -> None:
    """Have a process send no message that is not needed."""
    send = speaker.sendevent

    def send_if_needed(name: str, **content: Any) -> None:
        if is_needed(name, content):
            send(name, **content)

    speaker.sendevent = send_if_needed  # type: ignore[method-assign]
