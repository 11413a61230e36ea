"""Some hundreds of random histories with faults, and as many as `benchmarks.histories` is told to.

With HISTORY_SEED in the environment the history of that seed is run, and no other.
"""

import os

import pytest

from benchmarks.histories.running import SQLITE, Run, how_to_replay, over_sqlite

BLOCK = 20
"""Histories of one test, so that the processes of a run of all tests share them."""
SQLITE_BLOCKS = 10
FIRST = int(os.environ.get("HISTORY_SEED", "0"))
IS_ONE = "HISTORY_SEED" in os.environ


def seeds_of(block: int) -> range:
    return range(FIRST, FIRST + 1) if IS_ONE else range(block * BLOCK, (block + 1) * BLOCK)


def blocks(count: int) -> range:
    return range(1 if IS_ONE else count)


def check(database: str, run: Run, block: int) -> None:
    for seed in seeds_of(block):
        result = run(seed)
        assert not result.wrong, f"{how_to_replay(database, seed)}\n{result.told()}"


@pytest.mark.parametrize("block", blocks(SQLITE_BLOCKS))
def test_histories_over_sqlite_are_as_promised(block: int) -> None:
    with over_sqlite() as run:
        check(SQLITE, run, block)


def test_same_seed_gives_the_same_history_over_sqlite() -> None:
    with over_sqlite() as run:
        assert [run(seed).trace for seed in range(5)] == [run(seed).trace for seed in range(5)]
