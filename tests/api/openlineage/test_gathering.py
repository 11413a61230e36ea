"""Events that come while others are stored are stored together; one that fails harms no other."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest

from api.errors import Overloaded
from api.openlineage.gathering import MOST, Gatherer
from domain.errors import StoreUnavailable


class Taking:
    """Doubles numbers, once it is let, and notes what it was given together."""

    def __init__(self) -> None:
        self.may_go_on = asyncio.Event()
        self.groups: list[list[int]] = []

    async def __call__(self, numbers: Sequence[int]) -> list[int]:
        self.groups.append([*numbers])
        await self.may_go_on.wait()
        if 13 in numbers:
            raise ValueError("unlucky")
        if 0 in numbers:
            raise StoreUnavailable("full")
        if -1 in numbers:
            raise Overloaded("busy", 1)
        return [2 * number for number in numbers]


async def sent(
    taking: Taking, *requests: tuple[str, list[int]]
) -> list[Sequence[int] | BaseException]:
    """The results of requests of callers, all of which come before the first is done."""
    gatherer = Gatherer[int, int](taking)
    tasks = []
    for each in requests:
        tasks.append(asyncio.create_task(gatherer.taken(*each)))
        for _ in range(5):
            await asyncio.sleep(0)
    taking.may_go_on.set()
    return await asyncio.gather(*tasks, return_exceptions=True)


def run(test: Callable[[Taking], Awaitable[None]]) -> None:
    async def main() -> None:
        await test(Taking())

    asyncio.run(main())


def test_what_comes_meanwhile_is_taken_together() -> None:
    async def test(taking: Taking) -> None:
        results = await sent(taking, ("a", [1]), ("a", [2, 3]), ("b", [9]), ("a", [4]))
        assert results == [[2], [4, 6], [18], [8]]
        assert taking.groups == [[1], [9], [2, 3, 4]]

    run(test)


def test_so_many_are_taken_together_at_most() -> None:
    async def test(taking: Taking) -> None:
        many = [5] * (MOST - 1)
        await sent(taking, ("a", [1]), ("a", many), ("a", [2]), ("a", [3]), ("a", many * 2))
        assert list(map(len, taking.groups)) == [1, MOST, 1, 2 * MOST - 2]

    run(test)


def test_request_that_fails_harms_no_other() -> None:
    async def test(taking: Taking) -> None:
        results = await sent(taking, ("a", [1]), ("a", [2]), ("a", [13]), ("a", [3]))
        assert [results[0], results[1], results[3]] == [[2], [4], [6]]
        assert isinstance(results[2], ValueError)

    run(test)


@pytest.mark.parametrize(("number", "error"), [(0, StoreUnavailable), (-1, Overloaded)])
def test_what_is_to_be_tried_again_is_told_to_all(number: int, error: type[Exception]) -> None:
    async def test(taking: Taking) -> None:
        results = await sent(taking, ("a", [1]), ("a", [2]), ("a", [number]))
        assert results[0] == [2]
        assert [type(each) for each in results[1:]] == [error, error]
        assert taking.groups == [[1], [2, number]]

    run(test)
