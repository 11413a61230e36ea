"""Connections that answered requests at once are closed once no more come."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from uvicorn import Config
from uvicorn.server import ServerState

from api.answers.responses import Finished
from api.edge.answering import AnsweringProtocol
from api.edge.connections import bounded
from api.edge.outbox import Outbox


class Idle:
    """A connection that was last answered at once at a time, as a timer of it ends."""

    def __init__(self, answered_at: float, now: float) -> None:
        self.set: list[float] = []
        self.closed: list[bool] = []
        connection: Any = AnsweringProtocol.__new__(AnsweringProtocol)
        connection.answered_at, connection.timeout_keep_alive = answered_at, 75
        connection.outbox = Outbox()
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


class Edge:
    """Answers each plain read with the number of reads so far."""

    def __init__(self) -> None:
        self.reads = 0

    def count_connections(self, number: int) -> None:
        pass

    def answer(self, scope: Any) -> tuple[Finished, str]:
        self.reads += 1
        return Finished(b"%d" % self.reads), "request"


class Sent(asyncio.Transport):
    """A transport that notes what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.done: list[str] = []

    def write(self, data: Any) -> None:
        self.done.append(data.decode()[-1])

    def close(self) -> None:
        self.done.append("closed")

    def is_closing(self) -> bool:
        return "closed" in self.done

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default


def known(head: bytes) -> tuple[AnsweringProtocol, Sent]:
    """A connection whose process knows this head of a request, which it has answered once."""
    edge: Any = Edge()
    server = bounded(AnsweringProtocol, edge, 10, 60.0)
    config, sent = Config(app=nothing, lifespan="off", log_config=None), Sent()
    made: Any = server(config, ServerState(), {}, asyncio.get_running_loop())
    made.connection_made(sent)
    made.data_received(head)
    return made, sent


async def nothing(scope: Any, receive: Any, send: Any) -> None:
    """An application that is not asked."""


HEAD = b"GET /v1/tables HTTP/1.1\r\nHost: x\r\n\r\n"


def test_answer_that_is_held_is_written_when_the_client_sends_no_more() -> None:
    async def hold_and_end() -> list[str]:
        connection, sent = known(HEAD)
        connection.data_received(HEAD)
        connection.eof_received()
        return [*sent.done]

    assert asyncio.run(hold_and_end()) == ["1", "2"]


def test_answers_keep_their_order_where_one_is_held() -> None:
    async def three_in_a_turn() -> list[str]:
        connection, sent = known(HEAD)
        for head in (HEAD, HEAD.replace(b"Host: x", b"Host: other"), HEAD):
            connection.data_received(head)
        await asyncio.sleep(0)
        return [*sent.done]

    assert asyncio.run(three_in_a_turn()) == ["1", "2", "3", "4"]


@pytest.mark.parametrize(
    "end",
    [
        AnsweringProtocol.make_room,
        AnsweringProtocol.shutdown,
        AnsweringProtocol.timeout_keep_alive_handler,
    ],
)
def test_answer_that_is_held_is_written_before_its_connection_closes(
    end: Callable[[AnsweringProtocol], None],
) -> None:
    async def hold_and_end() -> list[str]:
        connection, sent = known(HEAD)
        connection.timeout_keep_alive = 0
        connection.data_received(HEAD)
        end(connection)
        return [*sent.done]

    assert asyncio.run(hold_and_end()) == ["1", "2", "closed"]
