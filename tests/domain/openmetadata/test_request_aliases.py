"""Keys of older requests are read as the keys that they are short for."""

from typing import Any

import pytest

from domain.errors import InvalidInput
from domain.openmetadata.entity_properties import unalias


@pytest.mark.parametrize(
    ("given", "plain"),
    [
        ({"domain": "d"}, {"domains": ["d"]}),
        ({"owner": {"id": "x"}}, {"owners": [{"id": "x"}]}),
        ({"owner": None, "tags": []}, {"tags": []}),
        ({"domains": ["d"]}, {"domains": ["d"]}),
    ],
)
def test_alias_is_replaced(given: dict[str, Any], plain: dict[str, Any]) -> None:
    before = dict(given)
    assert unalias(given) == plain
    assert given == before


@pytest.mark.parametrize(
    "values", [{"owner": "a", "owners": []}, {"domain": "a", "domains": ["a"]}]
)
def test_alias_beside_its_key_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="say the same thing: give one of them"):
        unalias(values)
