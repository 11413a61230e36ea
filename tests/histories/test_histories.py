"""Some hundreds of random histories with faults; `python -m benchmarks.histories` runs thousands.

With HISTORY_SEED in the environment the history of that seed is run, and no other.
"""

import os
from collections.abc import Iterator

import pytest

from benchmarks.histories.history import FIRST_WITH_RENAMES
from benchmarks.histories.running import (
    POSTGRESQL,
    SQLITE,
    Run,
    how_to_replay,
    over_postgresql,
    over_sqlite,
)
from benchmarks.postgres_server import WHY_NONE, find_binaries
from tests.depth import first_alone

BLOCK = 10
"""Histories of one test, so that the processes of a run of all tests share them."""
SQLITE_BLOCKS = 20
POSTGRESQL_SEEDS = (41, *range(8), 44, 118, 131, 139, 142)
"""41 and the last ones went wrong before plans, reads and appends carried the epoch of the log."""
RENAMING_SEEDS = range(FIRST_WITH_RENAMES, FIRST_WITH_RENAMES + 24, 2)
FIRST = int(os.environ.get("HISTORY_SEED", "0"))
IS_ONE = "HISTORY_SEED" in os.environ


BLOCKS = [
    *(range(n * BLOCK, (n + 1) * BLOCK) for n in range(SQLITE_BLOCKS)),
    range(FIRST_WITH_RENAMES, FIRST_WITH_RENAMES + 200, 2),
]
ONE = range(FIRST, FIRST + 1)


@pytest.fixture(scope="module")
def run_over_postgresql() -> Iterator[Run]:
    """Yield a runner of histories on a server of their own, shared by the tests of this module."""
    binaries = find_binaries()
    if binaries is None:
        pytest.skip(WHY_NONE)
    with over_postgresql(binaries) as run:
        yield run


def check(database: str, run: Run, seed: int) -> None:
    result = run(seed)
    assert not result.wrong, f"{how_to_replay(database, seed)}\n{result.told()}"


@pytest.mark.parametrize(
    "seeds", [ONE] if IS_ONE else first_alone(*BLOCKS), ids=lambda seeds: f"from-{seeds[0]}"
)
def test_histories_over_sqlite_are_as_promised(seeds: range) -> None:
    with over_sqlite() as run:
        for seed in seeds:
            check(SQLITE, run, seed)


@pytest.mark.parametrize("seed", ONE if IS_ONE else first_alone(*POSTGRESQL_SEEDS, *RENAMING_SEEDS))
def test_history_over_postgresql_is_as_promised(run_over_postgresql: Run, seed: int) -> None:
    check(POSTGRESQL, run_over_postgresql, seed)


def test_same_seed_gives_the_same_history_over_sqlite() -> None:
    with over_sqlite() as run:
        assert [run(seed).trace for seed in range(5)] == [run(seed).trace for seed in range(5)]


def test_same_seed_gives_the_same_history_over_postgresql(run_over_postgresql: Run) -> None:
    assert run_over_postgresql(7).trace == run_over_postgresql(7).trace
