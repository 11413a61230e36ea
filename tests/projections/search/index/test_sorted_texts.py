"""Texts in order, made in blocks: the same as in one call, and no block is large."""

import random
from typing import Any

import pytest

from projections.search.index.format import sorted_texts
from projections.search.index.format.sorted_texts import sorted_places, united


def lexicons(seed: int) -> list[list[bytes]]:
    chance = random.Random(seed)
    texts = [b"%d" % chance.randrange(60) for _ in range(120)]
    return [sorted({*chance.sample(texts, chance.randrange(60))}) for _ in range(seed % 5)]


@pytest.mark.parametrize("block", [1, 7, 10_000])
@pytest.mark.parametrize("seed", range(10))
def test_lexicons_are_united_as_in_one_sort(seed: int, block: int) -> None:
    given = lexicons(seed)
    mapped, union = united(given, block)
    assert union == sorted({text for texts in given for text in texts})
    assert [[union[place] for place in places.tolist()] for places in mapped] == given


@pytest.mark.parametrize("block", [1, 7, 10_000])
def test_places_are_sorted_as_in_one_sort(block: int) -> None:
    names = [b"%d" % number for number in range(100)]
    random.Random(1).shuffle(names)
    assert [names[place] for place in sorted_places(names, block)] == sorted(names)
    assert sorted_places([], block) == []


def test_no_call_sorts_more_than_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    def counted(texts: Any, **options: Any) -> list[Any]:
        sizes.append(len(texts))
        return sorted(texts, **options)

    monkeypatch.setattr(sorted_texts, "sorted", counted, raising=False)
    names = [b"%d" % number for number in range(10_000)]
    united([sorted(names[0::2]), sorted(names[1::2]), sorted(names[0::3])], 100)
    sorted_places(names, 100)
    assert max(sizes) == 100
