"""The longest wait of an event loop beside work in a thread."""

import asyncio
import time
from collections.abc import Callable


def longest_wait(work: Callable[[], object]) -> float:
    """Seconds for which a loop that always has something to do waits at most, beside `work`."""

    async def measured() -> float:
        done = asyncio.create_task(asyncio.to_thread(work))
        longest, before = 0.0, time.perf_counter()
        while not done.done():
            await asyncio.sleep(0.001)
            now = time.perf_counter()
            longest, before = max(longest, now - before), now
        await done
        return longest

    return asyncio.run(measured())


def spin(length: float) -> None:
    """Keep the interpreter busy for so many seconds."""
    end = time.perf_counter() + length
    while time.perf_counter() < end:
        pass
