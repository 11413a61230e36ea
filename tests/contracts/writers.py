"""Writers that race in processes of their own, each of which runs `main` of this module.

Each gets the address of the log, its name and how often to write, waits for a line on standard
input, so that all begin together, and prints how many of its appends were refused.
"""

import itertools
import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Self

from domain.errors import ConcurrentChange
from domain.event_store.appends import prepared
from domain.event_store.opening import open_event_log
from domain.event_store.port import EventStore
from domain.event_store.writes import Expectations
from tests.contracts.recorded import changed, created, deleted, restored
from tests.e2e import forked

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


class Writer:
    """A process that waits for its first line of input before it writes."""

    def __init__(self, *arguments: str) -> None:
        given, write = os.pipe()
        read, told = os.pipe()
        self.input, self.output = os.fdopen(write, "w"), os.fdopen(read)
        try:
            self.process = forked.Forked(
                "tests.contracts.writers", arguments, os.environ, told, 2, stdin=given
            )
        finally:
            os.close(given)
            os.close(told)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        with self.input, self.output:
            self.process.kill()
            self.process.wait(60)

    def begin(self) -> None:
        """Let the process write."""
        print(file=self.input, flush=True)


def race(address: str, roles: list[str], count: int) -> list[int]:
    """Run a process for each role, all at once; returns how many appends each had refused."""
    with ExitStack() as stack:
        writers = [
            stack.enter_context(Writer(address, f"w{number}", role, str(count)))
            for number, role in enumerate(roles)
        ]
        for writer in writers:
            assert writer.output.readline() == "ready\n"
        for writer in writers:
            writer.begin()
        said = [writer.output.read() for writer in writers]
        assert [writer.process.wait(120) for writer in writers] == [0] * len(writers)
    return [int(text) for text in said]


def append_groups_until_killed(address: str, number: int) -> int:
    """Kill a process that appends group after group, once so many groups are acknowledged.

    Returns how many groups it has acknowledged.
    """
    with Writer(address, "killed", "append_groups", "0") as writer:
        writer.begin()
        heard = [writer.output.readline() for _ in range(number + 1)]
        writer.process.kill()
        heard += writer.output.readlines()
    return len(heard) - 1


def append_groups(store: EventStore) -> None:
    """Append groups and print a line for each, for ever."""
    for number in itertools.count():
        group = [prepared([created(f"{number}-{member}")]) for member in range(GROUP)]
        assert all(isinstance(result, int) for result in store.append_group(group))
        print(number, flush=True)


def main() -> None:
    """Run the writer that the arguments of the process name."""
    address, name, role, count = sys.argv[1:]
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
