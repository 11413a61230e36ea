"""A checkpoint that other processes move is looked at while anybody waits for it, and told."""

import queue
import threading
from collections.abc import Iterator

import pytest

from domain.errors import StoreUnavailable
from projections.feeding.polling import CheckpointPoller

SECONDS = 30.0


class Elsewhere:
    """A checkpoint that somebody else moves, those who wait for it, and what is announced."""

    def __init__(self) -> None:
        self.position = 1
        self.is_away = False
        self.is_waited_for = False
        self.looks = 0
        self.looked = threading.Semaphore(0)
        self.announced: queue.SimpleQueue[None] = queue.SimpleQueue()

    def checkpoint(self) -> int:
        self.looks += 1
        self.looked.release()
        if self.is_away:
            raise StoreUnavailable("away")
        return self.position

    def wait_for_look(self) -> None:
        assert self.looked.acquire(timeout=SECONDS)


@pytest.fixture
def elsewhere() -> Elsewhere:
    return Elsewhere()


@pytest.fixture
def poller(elsewhere: Elsewhere) -> Iterator[CheckpointPoller]:
    poller = CheckpointPoller(elsewhere.checkpoint)
    poller.start(lambda: elsewhere.is_waited_for, lambda: elsewhere.announced.put(None))
    yield poller
    poller.close()


def test_checkpoint_is_asked_for_only_when_somebody_wants_it(
    elsewhere: Elsewhere, poller: CheckpointPoller
) -> None:
    assert poller.position() == 0
    poller.look()
    elsewhere.announced.get(timeout=SECONDS)
    assert (poller.position(), elsewhere.looks) == (1, 1)


def test_checkpoint_is_asked_for_until_nobody_waits_and_announced_when_it_moved(
    elsewhere: Elsewhere, poller: CheckpointPoller
) -> None:
    elsewhere.is_waited_for = True
    poller.look()
    elsewhere.announced.get(timeout=SECONDS)
    for _ in range(3):
        elsewhere.wait_for_look()
    assert elsewhere.announced.empty()
    elsewhere.position = 7
    elsewhere.announced.get(timeout=SECONDS)
    assert poller.position() == 7


def test_checkpoint_that_cannot_be_read_is_told_until_it_is_looked_at_again(
    elsewhere: Elsewhere, poller: CheckpointPoller
) -> None:
    elsewhere.is_away = True
    poller.look()
    elsewhere.announced.get(timeout=SECONDS)
    with pytest.raises(StoreUnavailable, match="away"):
        poller.position()
    elsewhere.is_away = False
    poller.look()
    elsewhere.announced.get(timeout=SECONDS)
    assert poller.position() == 1
