"""Tests that share nothing are handed out by the handful; those of a group stay together."""

import itertools
from collections import Counter
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from tests.handfuls import HANDFULS, Handfuls, handful_of, place_of

IDS = [f"tests/test_some.py::test_{number}" for number in range(20_000)]


def test_handfuls_are_small_and_about_as_large() -> None:
    sizes = Counter(map(handful_of, IDS))

    assert len(sizes) == HANDFULS
    assert max(sizes.values()) < 3 * len(IDS) / HANDFULS


def test_tests_of_a_handful_stand_together() -> None:
    names = [handful_of(node_id) for node_id in sorted(IDS, key=place_of)]

    changes = sum(before != after for before, after in itertools.pairwise(names))
    assert changes == HANDFULS - 1


class Process:
    """A process of xdist as its scheduler sees it, which does what it is told at once."""

    shutting_down = False

    def __init__(self) -> None:
        self.told: list[int] = []

    def send_runtest_some(self, indices: Sequence[int]) -> None:
        self.told += indices


def test_process_is_given_a_group_or_a_handful_at_once() -> None:
    group = [f"{each}@some group" for each in IDS[:50]]
    free = sorted(IDS[50:], key=place_of)
    config: Any = SimpleNamespace(
        getvalue={"tx": ["popen"]}.__getitem__, option=SimpleNamespace(loadscopereorder=False)
    )
    scheduler, process = Handfuls(config), Process()
    scheduler.add_node(process)
    scheduler.add_node_collection(process, [*group, *free])

    scheduler.schedule()
    assert process.told == [*range(50)]

    for index in range(50):
        scheduler.mark_test_complete(process, index)
    first = [each for each in free if handful_of(each) == handful_of(free[0])]
    assert process.told[50:] == [50 + place for place in range(len(first))]
