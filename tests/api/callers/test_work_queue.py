"""Work of callers who take turns: bounded, fair, and never lost with a caller that leaves."""

import asyncio
import gc
import threading
import time
import weakref
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

import pytest

from api.callers.limits import Places
from api.callers.work_queue import WorkQueue
from api.errors import ClientLeft, TooManyRequests

T = TypeVar("T")


class Searches:
    """Searches of a queue with one thread, which is held until `release`."""

    def __init__(self, most: int = 100) -> None:
        self.queue = WorkQueue(1, Places(most, "searches"))
        self.done: list[str] = []
        self._held = threading.Event()
        self.first = self.start("first", self._held.wait)

    def start(
        self,
        caller: str,
        work: Callable[[], object] = lambda: None,
        left: bool = False,
    ) -> "asyncio.Task[None]":
        async def has_left() -> bool:
            return left

        async def search() -> None:
            await self.queue.run(caller, work, has_left)
            self.done.append(caller)

        return asyncio.create_task(search())

    async def release(self, *tasks: "asyncio.Task[None]") -> list[BaseException | None]:
        await asyncio.sleep(0)
        self._held.set()
        return await asyncio.wait_for(
            asyncio.gather(self.first, *tasks, return_exceptions=True), 10
        )


def run(test: Callable[[], Awaitable[T]]) -> T:
    async def inside() -> T:
        return await test()

    return asyncio.run(inside())


def test_searches_of_one_caller_are_bounded() -> None:
    async def test() -> None:
        searches = Searches(most=2)
        waiting = [searches.start("ann") for _ in range(3)]
        other = searches.start("bo")
        _, *answers, none = await searches.release(*waiting, other)
        assert (answers[:2], none) == ([None, None], None)
        assert isinstance(answers[2], TooManyRequests)
        # All are over: there is room again.
        await searches.start("ann")

    run(test)


def test_callers_that_wait_take_turns() -> None:
    async def test() -> None:
        searches = Searches()
        callers = ["greedy"] * 5 + ["ann", "bo", "ann"]
        await searches.release(*map(searches.start, callers))
        in_turn = ["greedy", "ann", "bo", "greedy", "ann", "greedy", "greedy", "greedy"]
        assert searches.done == ["first", *in_turn]

    run(test)


def test_caller_has_no_more_threads_than_it_may_have() -> None:
    async def test() -> None:
        queue = WorkQueue(2, Places(100, "writes"), each=1)
        held, done = threading.Event(), []

        async def write(caller: str, work: Callable[[], object]) -> None:
            async def stays() -> bool:
                return False

            await queue.run(caller, work, stays)
            done.append(caller)

        greedy = [asyncio.create_task(write("greedy", held.wait)) for _ in range(3)]
        await asyncio.sleep(0)
        # One thread is held by the greedy caller's first, which its others may not pass.
        for caller in ("ann", "bo", "ann"):
            await asyncio.wait_for(write(caller, lambda: None), 10)
        assert done == ["ann", "bo", "ann"]
        held.set()
        await asyncio.wait_for(asyncio.gather(*greedy), 10)
        await asyncio.wait_for(asyncio.gather(*(write(c, lambda: None) for c in "xyz")), 10)
        assert done[3:6] == ["greedy"] * 3
        assert sorted(done[6:]) == ["x", "y", "z"]

    run(test)


def test_waiting_steps_of_a_caller_share_a_turn() -> None:
    async def test() -> None:
        queue = WorkQueue(1, together=3)
        order: list[object] = []

        def after(several: bool) -> None:
            order.append(several)

        async def step(number: int, left: bool = False) -> None:
            async def has_left() -> bool:
                return left

            def work() -> None:
                order.append(number)
                if number == 1:
                    raise KeyError(number)

            await queue.go_on("ann", work, has_left, after)

        steps = [asyncio.create_task(step(n, left=n == 2)) for n in range(6)]
        answers = await asyncio.wait_for(asyncio.gather(*steps, return_exceptions=True), 10)
        assert order == [0, False, 1, 3, True, 4, 5, True]
        assert [type(each) for each in answers] == [
            type(None),
            KeyError,
            ClientLeft,
            *[type(None)] * 3,
        ]

    run(test)


def test_long_steps_of_a_caller_share_no_turn() -> None:
    async def test() -> None:
        queue = WorkQueue(1, together=3)
        order: list[object] = []

        async def step(number: int) -> None:
            def work() -> None:
                order.append(number)
                time.sleep(0.01)

            await queue.go_on("ann", work, None, order.append)

        await asyncio.gather(*map(step, range(3)))
        assert order == [0, False, 1, False, 2, False]

    run(test)


def test_turns_begin_one_after_the_other_while_they_are_short() -> None:
    async def test() -> None:
        queue = WorkQueue(2, alone=60.0)
        running, most = 0, 0

        def work() -> None:
            nonlocal running, most
            running += 1
            most = max(most, running)
            time.sleep(0.002)
            running -= 1

        steps = [asyncio.create_task(queue.go_on(caller, work)) for caller in "abcabcabc"]
        await asyncio.wait_for(asyncio.gather(*steps), 10)
        assert most == 1

    run(test)


def test_turns_begin_beside_one_that_takes_long() -> None:
    async def test() -> None:
        queue = WorkQueue(2, alone=0.01)
        held, order = threading.Event(), list[str]()
        long = asyncio.create_task(queue.go_on("long", held.wait))
        await asyncio.sleep(0)
        steps = [
            asyncio.create_task(queue.go_on(caller, partial(order.append, caller)))
            for caller in "aba"
        ]
        await asyncio.wait_for(asyncio.gather(*steps), 10)
        assert not long.done()
        held.set()
        await asyncio.wait_for(long, 10)
        assert order == ["a", "b", "a"]
        # Nothing is left that others would have to wait for.
        await asyncio.wait_for(queue.go_on("c", lambda: None), 10)

    run(test)


def test_no_step_waits_for_a_long_one_of_its_turn() -> None:
    async def test() -> None:
        queue = WorkQueue(2, together=4, alone=0.01)
        held, order = threading.Event(), list[str]()
        works = [partial(order.append, name) for name in ("begins", "shares", "is taken back")]
        steps = [
            asyncio.create_task(queue.go_on("ann", work))
            for work in (*works[:2], partial(held.wait, 60), works[2])
        ]
        await asyncio.wait_for(asyncio.gather(*steps[:2], steps[3]), 10)
        assert not steps[2].done()
        assert order == ["begins", "shares", "is taken back"]
        held.set()
        await asyncio.wait_for(steps[2], 10)
        # Nothing is left that others would have to wait for.
        await asyncio.wait_for(asyncio.gather(*(queue.go_on(c, lambda: None) for c in "abc")), 10)

    run(test)


def test_search_that_is_cancelled_passes_its_turn_on() -> None:
    async def test() -> None:
        searches = Searches()
        waiting = [searches.start(name) for name in ("ann", "bo", "bo")]
        await asyncio.sleep(0)
        waiting[0].cancel()
        waiting[2].cancel()
        answers = await searches.release(*waiting)
        assert [type(answer) for answer in answers[1:]] == [
            asyncio.CancelledError,
            type(None),
            asyncio.CancelledError,
        ]
        await searches.start("ann")
        assert searches.done == ["first", "bo", "ann"]

    run(test)


def test_turn_that_comes_while_a_search_is_cancelled_is_passed_on() -> None:
    async def test() -> None:
        searches = Searches()
        waiting = [searches.start(name) for name in ("ann", "ann", "bo")]
        await asyncio.sleep(0)

        def cancel(_running: int, _waiting: int) -> None:
            waiting[0].cancel()

        # The queue reports before it gives a turn to the first of ann's searches.
        searches.queue.report = cancel
        answers = await searches.release(*waiting)
        assert [type(answer) for answer in answers[1:]] == [
            asyncio.CancelledError,
            *[type(None)] * 2,
        ]
        assert searches.done == ["first", "bo", "ann"]

    run(test)


def test_search_whose_client_left_meanwhile_is_not_done() -> None:
    async def test() -> None:
        searches = Searches()
        gone = searches.start("ann", lambda: pytest.fail("it was done"), left=True)
        stays = searches.start("ann")
        _, answer, other = await searches.release(gone, stays)
        assert isinstance(answer, ClientLeft)
        assert (other, searches.done) == (None, ["first", "ann"])

    run(test)


def test_search_that_fails_frees_its_thread() -> None:
    async def test() -> None:
        searches = Searches()
        _, answer = await searches.release(searches.start("ann", lambda: 1 // 0))
        assert isinstance(answer, ZeroDivisionError)
        await searches.start("ann")
        assert searches.done == ["first", "ann"]

    run(test)


def test_work_that_failed_holds_nothing() -> None:
    """Without the garbage collector, which looks rarely: an error must not keep what it met."""

    class Large:
        pass

    kept: list[weakref.ref[Large]] = []

    def work() -> None:
        large = Large()
        kept.append(weakref.ref(large))
        fail(large)

    def fail(_: Large) -> None:
        raise KeyError("more than allowed")

    async def test() -> None:
        queue = WorkQueue(1, Places(10, "searches"))

        async def has_left() -> bool:
            return False

        for _ in range(3):
            with pytest.raises(KeyError):
                await queue.run("caller", work, has_left)

    gc.disable()
    try:
        asyncio.run(test())
        assert [reference() for reference in kept] == [None, None, None]
    finally:
        gc.enable()
