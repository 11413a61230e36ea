"""Tasks of requests are begun one in each step of the event loop, in the order of the requests."""

import asyncio
from functools import partial

from api.edge.starts import Starts


async def steps_of(starts: Starts, numbers: range) -> list[list[int]]:
    """Return the tasks begun in each step of the loop, the first of which asks for all of them."""
    loop = asyncio.get_running_loop()
    begun: list[int] = []
    steps: list[list[int]] = []
    for number in numbers:
        starts.begin(loop, partial(begun.append, number))
    while not steps or steps[-1]:
        steps.append([*begun])
        begun.clear()
        await asyncio.sleep(0)
    return steps[:-1]


def test_tasks_that_come_together_are_begun_one_in_each_step() -> None:
    assert asyncio.run(steps_of(Starts(), range(4))) == [[0], [1], [2], [3]]


def test_task_that_comes_alone_is_begun_at_once() -> None:
    async def each_alone() -> list[list[list[int]]]:
        starts = Starts()
        return [await steps_of(starts, range(number, number + 1)) for number in range(3)]

    assert asyncio.run(each_alone()) == [[[0]], [[1]], [[2]]]


def test_task_that_comes_later_waits_for_those_before_it() -> None:
    async def come() -> list[int]:
        loop, starts, begun = asyncio.get_running_loop(), Starts(), list[int]()
        for number in (0, 1, 2):
            starts.begin(loop, partial(begun.append, number))
        await asyncio.sleep(0)
        starts.begin(loop, partial(begun.append, 3))
        assert begun == [0, 1]
        while len(begun) < 4:
            await asyncio.sleep(0)
        return begun

    assert asyncio.run(come()) == [0, 1, 2, 3]
