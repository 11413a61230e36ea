"""Connections that answered requests at once are closed once no more come."""

from types import SimpleNamespace
from typing import Any

import pytest

from api.edge.answering import AnsweringProtocol


class Idle:
    """A connection that was last answered at once at a time, as a timer of it ends."""

    def __init__(self, answered_at: float, now: float) -> None:
        self.set: list[float] = []
        self.closed: list[bool] = []
        connection: Any = AnsweringProtocol.__new__(AnsweringProtocol)
        connection.answered_at, connection.timeout_keep_alive = answered_at, 75
        connection.loop = SimpleNamespace(
            time=lambda: now, call_later=lambda seconds, _: self.set.append(seconds)
        )
        connection.transport = SimpleNamespace(
            is_closing=lambda: False, close=lambda: self.closed.append(True)
        )
        connection.timeout_keep_alive_handler()


@pytest.mark.parametrize("answered_at", [0.0, 25.0])
def test_an_idle_connection_is_closed(answered_at: float) -> None:
    idle = Idle(answered_at, now=100.0)
    assert (idle.set, idle.closed) == ([], [True])


def test_a_connection_that_answered_meanwhile_has_the_time_that_is_left() -> None:
    idle = Idle(answered_at=60.0, now=100.0)
    assert (idle.set, idle.closed) == ([35.0], [])
