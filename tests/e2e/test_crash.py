"""Acknowledged writes survive `kill -9`, once and whole, and the read models stay true."""

import random
from pathlib import Path

import pytest

from tests.e2e.crash import Harness

ROUNDS = 25
"""In each of the two tests, which may run beside each other."""


@pytest.mark.parametrize("writers", [3, 32])
def test_nothing_acknowledged_is_lost_when_servers_are_killed(tmp_path: Path, writers: int) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    figures = Harness(tmp_path, seed, writers=writers).run(ROUNDS, verify_every=5)
    assert figures.kills == ROUNDS
    assert figures.acknowledged > ROUNDS
    assert (figures.lost, figures.doubled, figures.halved) == (0, 0, 0)
    assert (figures.failed_requests, figures.unclean) == (0, 0)
