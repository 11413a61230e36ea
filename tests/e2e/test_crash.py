"""Acknowledged writes survive `kill -9`, once and whole, and the read models stay true."""

import random
from pathlib import Path

import pytest

from benchmarks.postgres_server import PostgresServer, new_schema
from tests.e2e.crash import Harness

ROUNDS = 25
"""In each of the two tests of one host, which may run beside each other."""
HOST_ROUNDS = 4


@pytest.mark.parametrize("writers", [3, 32])
def test_nothing_acknowledged_is_lost_when_servers_are_killed(tmp_path: Path, writers: int) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    figures = Harness([tmp_path], seed, writers=writers).run(ROUNDS, verify_every=5)
    assert figures.kills == ROUNDS
    assert figures.acknowledged > ROUNDS
    assert (figures.lost, figures.doubled, figures.halved) == (0, 0, 0)
    assert (figures.failed_requests, figures.unclean) == (0, 0)


def test_nothing_acknowledged_is_lost_when_either_of_two_hosts_is_killed(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    harness = Harness(
        [tmp_path / "one", tmp_path / "two"],
        seed,
        writers=8,
        database=postgres.url(new_schema()),
    )
    figures = harness.run(HOST_ROUNDS, verify_every=HOST_ROUNDS)
    assert figures.kills == 2 * HOST_ROUNDS
    assert figures.acknowledged > HOST_ROUNDS
    assert (figures.lost, figures.doubled, figures.halved, figures.unseen) == (0, 0, 0, 0)
    assert (figures.failed_requests, figures.unclean) == (0, 0)
