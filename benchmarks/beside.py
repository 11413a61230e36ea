"""Work that goes on beside what is measured, in threads of this process."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from benchmarks.running import Server


@contextmanager
def writing(server: Server, per_second: int) -> Iterator[list[float]]:
    """A client that changes a team until the block ends; gives the seconds of each write."""
    written: list[float] = []

    def write() -> None:
        start = time.perf_counter()
        body = {"name": "Written", "teamType": "Group", "description": f"Change {len(written)}."}
        server.ask("/v1/teams", json.dumps(body).encode())
        written.append(time.perf_counter() - start)
        time.sleep(max(0.0, 1 / per_second - written[-1]))

    with repeated(write, 1):
        yield written


@contextmanager
def repeated(work: Callable[[], object], threads: int) -> Iterator[None]:
    """Do something again and again in threads until the block ends; it must not fail."""
    stop = threading.Event()
    failures: list[Exception] = []

    def again() -> None:
        try:
            while not stop.is_set():
                work()
        except Exception as error:  # told below, in the thread that measures
            failures.append(error)

    running = [threading.Thread(target=again) for _ in range(threads)]
    for thread in running:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in running:
            thread.join()
    if failures:
        raise failures[0]
