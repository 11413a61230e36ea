"""Waiting for a checkpoint takes no thread, and one look at it is for everybody who waits."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any

from domain.errors import StoreUnavailable
from projections.feeding.passing import CheckpointWaiters

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


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 3 * PATIENCE))


def test_position_that_has_passed_already_is_not_waited_for() -> None:
    checkpoint = Checkpoint()
    checkpoint.position = 3

    async def test() -> None:
        waiters = CheckpointWaiters(checkpoint, announced=True)
        assert await waiters.until(3, PATIENCE)
        assert checkpoint.looks == 1

    run(test())


def test_announcement_lets_all_go_whose_position_has_passed() -> None:
    checkpoint = Checkpoint()

    async def test() -> None:
        waiters = CheckpointWaiters(checkpoint, announced=True)
        tasks = [asyncio.create_task(waiters.until(n, PATIENCE)) for n in (1, 3, 2)]
        await asyncio.sleep(0)
        for position, left in ((2, 1), (3, 0)):
            looks = checkpoint.looks
            checkpoint.position = position
            thread = threading.Thread(target=waiters.announce)
            thread.start()
            thread.join()
            passed = [task for task, n in zip(tasks, (1, 3, 2), strict=True) if n <= position]
            assert await asyncio.gather(*passed) == [True] * (3 - left)
            assert [task.done() for task in tasks].count(False) == left
            assert checkpoint.looks - looks <= 2

    run(test())


def test_checkpoint_that_nobody_announces_is_looked_at_by_one_for_all() -> None:
    checkpoint = Checkpoint()

    async def test() -> None:
        waiters = CheckpointWaiters(checkpoint, announced=False)
        tasks = [asyncio.create_task(waiters.until(5, PATIENCE)) for _ in range(100)]
        await asyncio.sleep(0)
        looks = checkpoint.looks
        checkpoint.position = 5
        assert await asyncio.gather(*tasks) == [True] * 100
        assert checkpoint.looks == looks + 1

    run(test())


def test_waiting_ends_after_its_time() -> None:
    checkpoint = Checkpoint()

    async def test() -> None:
        for announced in (False, True):
            waiters = CheckpointWaiters(checkpoint, announced=announced)
            patient = asyncio.create_task(waiters.until(1, PATIENCE))
            assert not await waiters.until(1, 0.01)
            assert not patient.done()
            checkpoint.position = 1
            waiters.announce()
            assert await patient
            checkpoint.position = 0

    run(test())


def test_waiting_ends_although_nothing_is_announced_any_more() -> None:
    checkpoint = Checkpoint()

    async def test() -> None:
        waiters = CheckpointWaiters(checkpoint, announced=True)
        assert not await waiters.until(1, 0.01)
        assert not await waiters.until(1, 0.01)
        checkpoint.position = 1
        assert await waiters.until(1, PATIENCE)

    run(test())


def test_checkpoint_that_cannot_be_read_is_not_waited_for() -> None:
    checkpoint = Checkpoint()

    async def test() -> None:
        waiters = CheckpointWaiters(checkpoint, announced=True)
        waiting = asyncio.create_task(waiters.until(1, PATIENCE))
        await asyncio.sleep(0)
        checkpoint.broken = True
        assert not await waiters.until(1, PATIENCE)
        assert not await waiting

    run(test())


def test_waiter_that_is_cancelled_is_forgotten() -> None:
    checkpoint = Checkpoint()

    async def test() -> None:
        waiters = CheckpointWaiters(checkpoint, announced=False)
        gone, stays = (asyncio.create_task(waiters.until(1, PATIENCE)) for _ in range(2))
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
    CheckpointWaiters(Checkpoint(), announced=True).announce()
