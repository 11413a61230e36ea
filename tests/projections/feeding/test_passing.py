"""Waiting for a checkpoint takes no thread, and one look at it is for everybody who waits."""

import asyncio
import queue
import threading
from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from typing import Any

import pytest

from domain.errors import StoreUnavailable
from projections.feeding.passing import CheckpointPoller, CheckpointWaiters

PATIENCE = 10.0


class Checkpoint:
    """A checkpoint that a test moves, and that counts how often it is looked at."""

    def __init__(self) -> None:
        self.position = 0
        self.looks = 0
        self.broken = False

    def __call__(self) -> int:
        self.looks += 1
        if self.broken:
            raise StoreUnavailable("no generation may be served")
        return self.position


def in_thread(work: Callable[[], None]) -> None:
    """Do something in another thread, and wait until it is done."""
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 3 * PATIENCE))


def test_position_that_has_passed_already_is_not_waited_for() -> None:
    checkpoint = Checkpoint()
    checkpoint.position = 3

    async def test() -> None:
        waiters = CheckpointWaiters(checkpoint, PATIENCE, announced=True)
        assert await waiters.until(3)
        assert checkpoint.looks == 1

    run(test())


def test_announcement_lets_all_go_whose_position_has_passed() -> None:
    checkpoint = Checkpoint()

    async def test() -> None:
        waiters = CheckpointWaiters(checkpoint, PATIENCE, announced=True)
        tasks = [asyncio.create_task(waiters.until(n)) for n in (1, 3, 2)]
        await asyncio.sleep(0)
        for position, left in ((2, 1), (3, 0)):
            looks = checkpoint.looks
            checkpoint.position = position
            in_thread(waiters.announce)
            passed = [task for task, n in zip(tasks, (1, 3, 2), strict=True) if n <= position]
            assert await asyncio.gather(*passed) == [True] * (3 - left)
            assert [task.done() for task in tasks].count(False) == left
            assert checkpoint.looks == looks + 1

    run(test())


def test_checkpoint_that_nobody_announces_is_looked_at_by_one_for_all() -> None:
    checkpoint = Checkpoint()

    async def test() -> None:
        waiters = CheckpointWaiters(checkpoint, PATIENCE, announced=False)
        tasks = [asyncio.create_task(waiters.until(5)) for _ in range(100)]
        await asyncio.sleep(0)
        looks = checkpoint.looks
        checkpoint.position = 5
        assert await asyncio.gather(*tasks) == [True] * 100
        assert checkpoint.looks == looks + 1

    run(test())


@pytest.mark.parametrize("announced", [False, True])
def test_waiting_ends_after_its_time(announced: bool) -> None:
    checkpoint = Checkpoint()

    async def test() -> None:
        waiters = CheckpointWaiters(checkpoint, 0.01, announced=announced)
        assert await asyncio.gather(*(waiters.until(1) for _ in range(3))) == [False] * 3
        assert not await waiters.until(1)
        checkpoint.position = 1
        assert await waiters.until(1)

    run(test())


def test_position_may_be_known_later_than_that_somebody_waits() -> None:
    checkpoint = Checkpoint()

    async def test() -> None:
        waiters = CheckpointWaiters(checkpoint, PATIENCE, announced=True)
        with waiters.waiter() as early, waiters.waiter() as late:
            checkpoint.position = 7
            in_thread(waiters.announce)
            await asyncio.sleep(0)
            assert not early.passed.done()
            in_thread(partial(waiters.reach, early, 7))
            assert await early.passed
            in_thread(partial(waiters.reach, late, 8))
            await asyncio.sleep(0)
            assert not late.passed.done()
            checkpoint.position = 8
            in_thread(waiters.announce)
            assert await late.passed

    run(test())


def test_waiting_ends_with_the_reason_why_there_is_no_position() -> None:
    async def test() -> None:
        waiters = CheckpointWaiters(Checkpoint(), PATIENCE, announced=True)
        with waiters.waiter() as waiter:
            in_thread(partial(waiters.fail, waiter, StoreUnavailable("the disk is full")))
            with pytest.raises(StoreUnavailable, match="the disk is full"):
                await waiter.passed

    run(test())


def test_others_are_served_between_those_who_waited_for_the_same() -> None:
    checkpoint, order = Checkpoint(), list[str]()

    async def wait(waiters: CheckpointWaiters) -> None:
        await waiters.until(1)
        order.append("waited")

    async def other() -> None:
        while len(order) < 40:
            order.append("other")
            await asyncio.sleep(0)

    async def test() -> None:
        waiters = CheckpointWaiters(checkpoint, PATIENCE, announced=True)
        tasks = [asyncio.create_task(wait(waiters)) for _ in range(20)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        checkpoint.position = 1
        waiters.announce()
        await asyncio.gather(*tasks, other())
        runs = "".join(word[0] for word in order).split("o")
        assert max(map(len, runs)) <= 5
        assert order.count("waited") == 20

    run(test())


def test_checkpoint_that_cannot_be_read_is_not_waited_for() -> None:
    checkpoint = Checkpoint()

    async def test() -> None:
        waiters = CheckpointWaiters(checkpoint, PATIENCE, announced=True)
        waiting = asyncio.create_task(waiters.until(1))
        await asyncio.sleep(0)
        checkpoint.broken = True
        assert not await waiters.until(1)
        assert not await waiting

    run(test())


def test_waiter_that_is_cancelled_is_forgotten() -> None:
    checkpoint = Checkpoint()

    async def test() -> None:
        waiters = CheckpointWaiters(checkpoint, PATIENCE, announced=False)
        gone, stays = (asyncio.create_task(waiters.until(1)) for _ in range(2))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.wait([gone])
        checkpoint.position = 1
        assert await stays
        # Nobody waits any more, so nobody looks.
        looks = checkpoint.looks
        waiters.announce()
        await asyncio.sleep(0)
        assert checkpoint.looks == looks

    run(test())


def test_announcement_to_nobody_is_heard_by_nobody() -> None:
    CheckpointWaiters(Checkpoint(), PATIENCE, announced=True).announce()


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
        assert self.looked.acquire(timeout=PATIENCE)


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
    elsewhere.announced.get(timeout=PATIENCE)
    assert (poller.position(), elsewhere.looks) == (1, 1)


def test_checkpoint_is_asked_for_until_nobody_waits_and_announced_when_it_moved(
    elsewhere: Elsewhere, poller: CheckpointPoller
) -> None:
    elsewhere.is_waited_for = True
    poller.look()
    elsewhere.announced.get(timeout=PATIENCE)
    for _ in range(3):
        elsewhere.wait_for_look()
    assert elsewhere.announced.empty()
    elsewhere.position = 7
    elsewhere.announced.get(timeout=PATIENCE)
    assert poller.position() == 7


def test_checkpoint_that_cannot_be_read_is_told_until_it_is_looked_at_again(
    elsewhere: Elsewhere, poller: CheckpointPoller
) -> None:
    elsewhere.is_away = True
    poller.look()
    elsewhere.announced.get(timeout=PATIENCE)
    with pytest.raises(StoreUnavailable, match="away"):
        poller.position()
    elsewhere.is_away = False
    poller.look()
    elsewhere.announced.get(timeout=PATIENCE)
    assert poller.position() == 1
