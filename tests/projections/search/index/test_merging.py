"""Merged segments are as if made at once of the documents that live."""

import io
import random

import numpy as np
import pytest

from projections.search.documents.documents import SearchDocument
from projections.search.index.build.inverter import Inverter
from projections.search.index.evaluate.segments import SegmentView
from projections.search.index.format.arrays import ArrayFile, unpack
from projections.search.index.merge.merging import merge

_WORDS = ("order", "orders", "customer", "id", "fooBar", "x_y", "ünïcode", "a.b", "42")


def random_document(chance, number):
    def text(size):
        return " ".join(chance.choice(_WORDS) for _ in range(chance.randint(1, size)))

    names = tuple(text(2) for _ in range(chance.randint(0, 4)))
    fields = {
        "name": (text(1),),
        "columns.name": names,
        "columns.fullyQualifiedName": tuple(f"s.{name}" for name in names),
        "description": (text(30),),
        "extension.cost": (chance.choice((1, 2.5, True)),),
    }
    return SearchDocument(
        f"id{number:03}",
        chance.choice(("table", "topic", "dashboard")),
        chance.random() < 0.2,
        {path: values for path, values in fields.items() if values},
        {"name": chance.choice(("a", "b", "c")), "displayName": text(1), "version": number / 10},
        number * 2**58 % 2**64,
    )


def arrays_of(documents):
    inverter = Inverter()
    for document in documents:
        inverter.add(document)
    return inverter.finish()


def merged_arrays(parts, **options):
    stream = io.BytesIO()
    numbers = merge(parts, ArrayFile(stream), lambda: None, **options)
    return unpack(stream.getvalue()), numbers


def assert_same(found, expected):
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, name)
        assert found[name].dtype == array.dtype, name


@pytest.mark.parametrize("block", [1, 40, 1_000_000])
@pytest.mark.parametrize("seed", range(6))
def test_merge_is_as_made_at_once(seed, block):
    chance = random.Random(seed)
    documents = [random_document(chance, number) for number in range(60)]
    chance.shuffle(documents)
    parts, living = [], []
    for at in range(0, 60, 20):
        some = sorted(documents[at : at + 20], key=lambda d: (d.sort["name"], d.id))
        dead = np.array([chance.random() < at / 50 for _ in some])
        living += [document for document, gone in zip(some, dead, strict=True) if not gone]
        parts.append(SegmentView("part", arrays_of(some), dead))
    found, numbers = merged_arrays(parts, block=block)
    assert_same(found, arrays_of(living))
    assert sorted(n for new in numbers for n in new.tolist() if n >= 0) == [*range(len(living))]
    for part, new in zip(parts, numbers, strict=True):
        gone = np.zeros(20, np.bool_) if part.dead is None else part.dead
        assert (new < 0).tolist() == gone.tolist()


def test_merge_of_one_segment_drops_its_dead():
    documents = [random_document(random.Random(1), number) for number in range(3)]
    documents.sort(key=lambda d: (d.sort["name"], d.id))
    found, _ = merged_arrays(
        [SegmentView("part", arrays_of(documents), np.array([True, False, True]))]
    )
    assert_same(found, arrays_of([documents[1]]))


def test_merge_ends_when_told():
    def stop():
        raise InterruptedError

    part = SegmentView("part", arrays_of([random_document(random.Random(1), 1)]))
    with pytest.raises(InterruptedError):
        merge([part, part], ArrayFile(io.BytesIO()), stop)
