"""Acknowledged writes survive `kill -9`, once and whole, and the read models stay true."""

import random
from pathlib import Path

import pytest

from benchmarks.postgres_server import PostgresServer, new_schema
from tests.depth import first_alone
from tests.e2e.crash import Harness


@pytest.mark.parametrize(
    ("writers", "rounds"),
    [
        (32, 3),
        pytest.param(3, 25, marks=pytest.mark.deep),
        pytest.param(32, 25, marks=pytest.mark.deep),
    ],
)
def test_nothing_acknowledged_is_lost_when_servers_are_killed(
    tmp_path: Path, writers: int, rounds: int
) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    figures = Harness([tmp_path], seed, writers=writers).run(rounds, verify_every=min(rounds, 5))
    assert figures.kills == rounds
    assert figures.acknowledged > rounds
    assert (figures.lost, figures.doubled, figures.halved) == (0, 0, 0)
    assert (figures.failed_requests, figures.unclean) == (0, 0)


@pytest.mark.parametrize("rounds", first_alone(1, 4))
def test_nothing_acknowledged_is_lost_when_either_of_two_hosts_is_killed(
    tmp_path: Path, postgres: PostgresServer, rounds: int
) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    harness = Harness(
        [tmp_path / "one", tmp_path / "two"],
        seed,
        writers=8,
        database=postgres.url(new_schema()),
    )
    figures = harness.run(rounds, verify_every=rounds)
    assert figures.kills == 2 * rounds
    assert figures.acknowledged > rounds
    assert (figures.lost, figures.doubled, figures.halved, figures.unseen) == (0, 0, 0, 0)
    assert (figures.failed_requests, figures.unclean) == (0, 0)
