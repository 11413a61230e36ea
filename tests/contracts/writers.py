"""Writers that race in processes of their own; `python -m tests.contracts.writers` starts one.

Each gets the address of the log, its name and how often to write, waits for a line on standard
input, so that all begin together, and prints how many of its appends were refused.
"""

import itertools
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from domain.errors import ConcurrentChange
from domain.event_store.appends import prepared
from domain.event_store.opening import open_event_log
from domain.event_store.port import EventStore
from domain.event_store.writes import Expectations
from tests.contracts.recorded import changed, created, deleted, restored

ROOT = Path(__file__).parents[2]
PARENT = "p"
GROUP = 16
"""Appends in each of the groups of `append_groups`."""


def append_pairs(store: EventStore, name: str, number: int) -> None:
    """Append an entity and its first change together."""
    entity_id = f"{name}-{number}"
    store.append([created(entity_id), changed(entity_id, 2)])


def change_one(store: EventStore, name: str, number: int) -> None:
    """Change the entity that everybody changes, from the version that is read."""
    *_, newest = store.stream(PARENT)
    store.append([changed(PARENT, newest.stream_version + 1)])


def add_child(store: EventStore, name: str, number: int) -> None:
    """Create an entity below the parent, and delete it again."""
    child = f"{name}-{number}"
    alive = Expectations(live=frozenset({PARENT}))
    store.append([created(child, f"top.{child}", PARENT)], expecting=alive)
    store.append([deleted(child, 2)])


def toggle_parent(store: EventStore, name: str, number: int) -> None:
    """Soft-delete the parent where nothing live is below it, and restore it."""
    *_, newest = store.stream(PARENT)
    version = newest.stream_version
    childless = Expectations(without_live_children=frozenset({PARENT}))
    store.append([deleted(PARENT, version + 1)], expecting=childless)
    store.append([restored(PARENT, version + 2)])


ROLES: dict[str, Callable[[EventStore, str, int], None]] = {
    role.__name__: role for role in (append_pairs, change_one, add_child, toggle_parent)
}


def race(address: str, roles: list[str], count: int) -> list[int]:
    """Run a process for each role, all at once; returns how many appends each had refused."""
    command = [sys.executable, "-m", "tests.contracts.writers", address]
    processes = [
        subprocess.Popen(
            [*command, f"w{number}", role, str(count)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number, role in enumerate(roles)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    said = [process.communicate(timeout=120)[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes)
    return [int(text) for text in said]


def append_groups_until_killed(address: str, number: int) -> int:
    """Kill a process that appends group after group, once so many groups are acknowledged.

    Returns how many groups it has acknowledged.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.contracts.writers", address, "killed", "append_groups", "0"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdin, process.stdout:
        print(file=process.stdin, flush=True)
        heard = [process.stdout.readline() for _ in range(number + 1)]
        process.kill()
        heard += process.stdout.readlines()
    process.wait(60)
    return len(heard) - 1


def append_groups(store: EventStore) -> None:
    """Append groups and print a line for each, for ever."""
    for number in itertools.count():
        group = [prepared([created(f"{number}-{member}")]) for member in range(GROUP)]
        assert all(isinstance(result, int) for result in store.append_group(group))
        print(number, flush=True)


def main(address: str, name: str, role: str, count: str) -> None:
    store = open_event_log(address)
    print("ready", flush=True)
    sys.stdin.readline()
    if role == append_groups.__name__:
        append_groups(store)
    refused = 0
    for number in range(int(count)):
        try:
            ROLES[role](store, name, number)
        except ConcurrentChange:
            refused += 1
    print(refused)
    store.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
