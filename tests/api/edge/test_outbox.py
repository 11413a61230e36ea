"""Answers of one turn of the event loop are written together, in order and within bounds."""

import asyncio
from itertools import count
from types import SimpleNamespace

import pytest

from api.edge import outbox
from api.edge.outbox import MOST_BYTES, MOST_SECONDS, Outbox


class Client:
    """A connection that notes what is written to it."""

    def __init__(self, written: list[bytes]) -> None:
        self.lost = False
        self.write = written.append

    def is_closing(self) -> bool:
        return self.lost


@pytest.fixture
def written() -> list[bytes]:
    return []


@pytest.fixture
def client(written: list[bytes]) -> Client:
    return Client(written)


def in_one_turn(client: Client, answers: list[bytes], written: list[bytes]) -> list[list[bytes]]:
    """What is written after each of the answers, and what is once the turn has ended."""

    async def turn() -> list[list[bytes]]:
        held, states = Outbox(), []
        for answer in answers:
            held.add(asyncio.get_running_loop(), client, answer)  # type: ignore[arg-type]
            states.append([*written])
        await asyncio.sleep(0)
        return [*states, [*written]]

    return asyncio.run(turn())


@pytest.fixture
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that stands still."""
    monkeypatch.setattr(outbox, "time", SimpleNamespace(perf_counter=lambda: 1.0))


@pytest.mark.usefixtures("still")
def test_answers_are_written_in_order_when_the_turn_ends(
    client: Client, written: list[bytes]
) -> None:
    answers = [b"%d" % number for number in range(5)]

    assert in_one_turn(client, answers, written) == [*[[]] * 5, answers]


@pytest.mark.usefixtures("still")
def test_no_more_bytes_are_held_than_the_bound(client: Client, written: list[bytes]) -> None:
    half = b"x" * (MOST_BYTES // 2)

    assert in_one_turn(client, [half, half, half], written) == [
        [],
        [half] * 2,
        [half] * 2,
        [half] * 3,
    ]


def test_no_answer_is_held_longer_than_the_bound(
    client: Client, written: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = count(1)
    clock = SimpleNamespace(perf_counter=lambda: next(ticks) * MOST_SECONDS * 0.6)
    monkeypatch.setattr(outbox, "time", clock)

    assert in_one_turn(client, [b"a", b"b", b"c", b"d"], written) == [
        [],
        [],
        [b"a", b"b", b"c"],
        [b"a", b"b", b"c"],
        [b"a", b"b", b"c", b"d"],
    ]


def test_answer_to_a_client_that_has_left_is_dropped(client: Client, written: list[bytes]) -> None:
    client.lost = True

    assert in_one_turn(client, [b"a"], written) == [[], []]
