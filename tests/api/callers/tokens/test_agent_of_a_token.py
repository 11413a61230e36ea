"""Who acts for a caller, as the token proves it."""

from typing import Any

import pytest

from api.callers.tokens.claims import find_agent


@pytest.mark.parametrize(
    ("claims", "agent"),
    [
        ({}, None),
        ({"azp": "helper"}, "helper"),
        ({"act": {"sub": "agent"}, "azp": "helper"}, "agent"),
        ({"act": {"sub": "x" * 300}, "azp": "helper"}, "helper"),
        ({"act": "agent"}, None),
        ({"act": {"sub": ["agent"]}, "azp": 1}, None),
        ({"azp": "a\u202eb"}, None),
    ],
)
def test_actor_comes_before_the_client(claims: dict[str, Any], agent: str | None) -> None:
    assert find_agent(claims) == agent
