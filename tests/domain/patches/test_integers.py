"""Whole numbers of entities have 64 bits; what an organisation defines itself may have more."""

from typing import Any

import pytest

from domain.errors import InvalidInput


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 10**400])
def test_larger_integer_is_refused(world: Any, value: int) -> None:
    world.schema()
    with pytest.raises(InvalidInput, match="votes"):
        world.table("t", votes={"upVotes": value})


@pytest.mark.parametrize("value", [2**63 - 1, -(2**63), 0])
def test_integer_of_64_bits_is_kept(world: Any, value: int) -> None:
    world.schema()

    assert world.table("t", votes={"upVotes": value}).value("votes") == {"upVotes": value}


def test_extension_may_hold_larger_ones(world: Any) -> None:
    world.schema()

    assert world.table("t", extension={"x": 10**40}).value("extension") == {"x": 10**40}
