"""Answers to imports are bounded in number and in bytes."""

import msgspec
import pytest

from domain.dbt.contracts import ManifestImport, ModelOutcome
from domain.dbt.told import MOST_TOLD, MOST_TOLD_BYTES, first_of


@pytest.mark.parametrize("length", [1, 12_000])
def test_answer_names_no_more_than_it_has_room_for(length: int) -> None:
    names = [f"{number}".rjust(length, "x") for number in range(MOST_TOLD + 7)]
    told = first_of(names)
    assert told == names[: len(told)]
    assert len(msgspec.json.encode(told)) < MOST_TOLD_BYTES + 2 * MOST_TOLD
    assert len(told) == (MOST_TOLD if length == 1 else MOST_TOLD_BYTES // (length + 2))


def test_models_beyond_the_room_are_counted() -> None:
    told = ManifestImport()
    for number in range(100):
        told.add(ModelOutcome(unique_id="m" * 20_000, entity=f"{number}", outcome="skipped"))
    assert 0 < len(told.models) < 50
    assert len(told.models) + told.omitted == 100
