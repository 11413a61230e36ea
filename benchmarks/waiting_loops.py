"""The longest wait of an event loop beside work in a thread."""

import asyncio
import statistics
import time
from collections.abc import Callable
from functools import partial

from api.processes.server import collect_rarely
from benchmarks.figures import Figure

HELD_MS = 20.0
"""Milliseconds for which work in a thread may hold the event loop."""


def wait_figure(work: Callable[[], object], length: float, rounds: int, beside: str) -> Figure:
    """The median of the longest waits beside work that takes so many seconds.

    The garbage collector looks at the objects of this process as rarely as it does in a server.
    """
    collect_rarely()
    held = statistics.median(longest_wait(work) for _ in range(rounds))
    usual = statistics.median(longest_wait(partial(spin, length)) for _ in range(rounds))
    return Figure(
        what=f"longest wait of an event loop beside {beside}",
        measured=f"{held * 1_000:.1f} ms",
        yardstick=f"{usual * 1_000:.1f} ms (a busy thread)",
        ratio=held / usual,
        budget=f"<= {HELD_MS:.0f} ms",
        met=held * 1_000 <= HELD_MS,
    )


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
