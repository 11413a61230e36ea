"""Writes take turns: one of each caller is done at a time, and nobody's large ones hold all up."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path

import pytest

from api.errors import TooManyRequests
from api.services import MAX_WRITE_BYTES, MAX_WRITES, Services, make_services
from api.settings import Settings
from projections.stores import open_stores
from tests.api.conftest import SECRET


async def stays() -> bool:
    return False


def test_writes_of_one_caller_leave_threads_to_others(tmp_path: Path) -> None:
    async def test(services: Services) -> None:
        held, order = threading.Event(), []

        def work(name: str, wait: Callable[[], object] = lambda: None) -> Callable[[], None]:
            def write() -> None:
                wait()
                order.append(name)

            return write

        greedy = [
            asyncio.create_task(services.write("greedy", 1, work(f"greedy {n}", wait), stays))
            for n, wait in enumerate([held.wait, int, int])
        ]
        await asyncio.sleep(0)
        for name in ("ann", "bo"):
            await asyncio.wait_for(services.write(name, 1, work(name), stays), 10)
        held.set()
        await asyncio.wait_for(asyncio.gather(*greedy), 10)
        assert order == ["ann", "bo", "greedy 0", "greedy 1", "greedy 2"]

    run(test, tmp_path)


@pytest.mark.parametrize(
    ("number", "size", "said"),
    [
        (2, MAX_WRITE_BYTES // 2, f"{MAX_WRITE_BYTES} bytes of writes"),
        (MAX_WRITES, 1, f"{MAX_WRITES} writes"),
    ],
)
def test_writes_that_wait_are_bounded_in_number_and_bytes(
    tmp_path: Path, number: int, size: int, said: str
) -> None:
    async def test(services: Services) -> None:
        held = threading.Event()
        waiting = [
            asyncio.create_task(services.write("greedy", size, held.wait, stays))
            for _ in range(number)
        ]
        await asyncio.sleep(0)
        try:
            with pytest.raises(TooManyRequests) as raised:
                await services.write("greedy", size, int, stays)
            assert str(raised.value) == f"{said} of yours are under way: wait for some"
            assert await services.write("ann", size, int, stays) == 0
        finally:
            held.set()
        await asyncio.wait_for(asyncio.gather(*waiting), 10)
        assert await services.write("greedy", size, int, stays) == 0

    run(test, tmp_path)


def run(test: Callable[[Services], Coroutine[object, object, None]], directory: Path) -> None:
    """Run a test on services over new stores, of which it needs no more than their threads."""
    stores = open_stores(directory)
    try:
        services = make_services(Settings(data=str(directory), jwt_secret=SECRET), stores)
        asyncio.run(test(services))
    finally:
        stores.close()
