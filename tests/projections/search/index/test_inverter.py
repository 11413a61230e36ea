"""The arrays of a segment hold what the documents do."""

import gc
import io
import math
import tracemalloc
from itertools import pairwise

import msgspec
import numpy as np
import pytest

from projections.search.documents.documents import SearchDocument
from projections.search.index.build.inverter import TOKEN_BYTES, Inverter
from projections.search.index.format.arrays import ArrayFile, Inverted, unpack
from projections.search.matching import weights
from projections.search.matching.stored_document import StoredDocument
from projections.search.matching.terms import PRESENT, whole_term


def made(name, document_id=None, kind="table", deleted=False, digest=7, **fields):
    named = {"name": (name,), **{path.replace("_", "."): found for path, found in fields.items()}}
    sort = {"name": name.lower(), "version": 0.2}
    return SearchDocument(document_id or f"id-{name}", kind, deleted, named, sort, digest)


def segment(*documents):
    inverter = Inverter()
    for document in documents:
        inverter.add(document)
    return inverter.finish()


def postings(arrays, field):
    """Term -> document -> positions, or None where none are kept."""
    inverted = Inverted.of(arrays, field)
    found = {}
    for number in range(inverted.size):
        place = inverted.postings(number)
        positions = [None] * (place.stop - place.start)
        if inverted.positions is not None:
            starts = inverted.position_starts[place.start : place.stop + 1]
            positions = [
                inverted.positions[start:stop].tolist() for start, stop in pairwise(starts)
            ]
        documents = inverted.ids[place].tolist()
        assert documents == sorted(set(documents))
        found[inverted.term(number)] = dict(zip(documents, positions, strict=True))
    assert list(found) == sorted(found)
    return found


def impacts(arrays, field):
    """Term -> document -> impact."""
    inverted = Inverted.of(arrays, field)
    places = ((inverted.term(n), inverted.postings(n)) for n in range(inverted.size))
    return {
        term: dict(zip(inverted.ids[place].tolist(), inverted.impacts[place].tolist(), strict=True))
        for term, place in places
    }


def texts(arrays, name):
    offsets = arrays[f"{name}.offsets"].tolist()
    data = arrays[f"{name}.lexicon"].tobytes()
    return [data[a:b] for a, b in pairwise(offsets)]


def test_documents_are_numbered_by_name_and_id():
    arrays = segment(made("b"), made("a", "2"), made("a", "10"), made("", "0"))
    rows = [msgspec.msgpack.decode(row, type=StoredDocument) for row in texts(arrays, "row")]
    assert [row.id for row in rows] == ["0", "10", "2", "id-b"]
    assert rows[3].sort[0] == "b"
    assert arrays["sort.name.rank"].tolist() == [0, 1, 1, 2]
    assert texts(arrays, "sort.name") == [b"", b"a", b"b"]


def test_columns_tell_kinds_deletion_digests_and_what_is_missing():
    arrays = segment(made("a", kind="topic", digest=2**64 - 1), made("b", deleted=True))
    assert [texts(arrays, "kind")[code] for code in arrays["kind"]] == [b"topic", b"table"]
    assert arrays["deleted"].tolist() == [False, True]
    assert arrays["digest"].tolist() == [2**64 - 1, 7]
    assert arrays["sort.version.value"].tolist() == [0.2, 0.2]
    assert all(math.isnan(value) for value in arrays["sort.totalVotes.value"])
    assert arrays["sort.entityStatus.rank"].tolist() == [-1, -1]


def test_exact_has_whole_texts_scalars_and_presence():
    arrays = segment(
        made("a", x=("Foo  Bar", "foo bar", 1, True)), made("b", x=(1.0,), service_id=("K",))
    )
    assert postings(arrays, "exact") == {
        f"{PRESENT}name".encode(): {0: None, 1: None},
        f"{PRESENT}service.id".encode(): {1: None},
        f"{PRESENT}x".encode(): {0: None, 1: None},
        b"name.keyword\x1fa": {0: None},
        b"name.keyword\x1fb": {1: None},
        b"x\x1f#bff0000000000000": {0: None, 1: None},
        b"x\x1ftrue": {0: None},
        b"x.keyword\x1ffoo bar": {0: None},
    }


def test_whole_has_the_digests_of_ids_and_names_of_parts():
    fqn = "columns.fullyQualifiedName"
    arrays = segment(made("a", columns_fullyQualifiedName=("x.Y", "z")), made("b", id=("id-b",)))
    assert postings(arrays, "whole") == {
        term: {number: None}
        for term, number in sorted(
            (
                (whole_term("id", "id-a"), 0),
                (whole_term("id", "id-b"), 1),
                (whole_term(fqn, "x.y"), 0),
                (whole_term(fqn, "z"), 0),
            )
        )
    }


def test_text_has_positions_over_all_values_and_stems_beside_the_words():
    arrays = segment(
        made("orders", columns_name=("order_keys", "key", "keys"), description=("Keys",))
    )
    assert postings(arrays, "text") == {
        b"columns.name\x1fkey": {0: [1, 259]},
        b"columns.name\x1fkeys": {0: [1]},
        b"columns.name\x1forder": {0: [0]},
        b"columns.name\x1forder_keys": {0: [0]},
        b"description\x1fkey": {0: [0]},
        b"description\x1fkeys": {0: [0]},
        b"name\x1forder": {0: [0]},
    }
    weight = {1.0: round(255 / 2.2), 0.8: round(255 * 0.8 / 2.0), 1.6: round(255 * 1.6 / 2.8)}
    assert impacts(arrays, "text") == {
        b"columns.name\x1fkey": {0: weight[1.6]},
        b"columns.name\x1fkeys": {0: weight[1.0]},
        b"columns.name\x1forder": {0: weight[1.0]},
        b"columns.name\x1forder_keys": {0: weight[1.0]},
        b"description\x1fkey": {0: weight[0.8]},
        b"description\x1fkeys": {0: weight[1.0]},
        b"name\x1forder": {0: weight[0.8]},
    }


def test_text_of_one_word_in_brackets_is_found_by_the_word():
    arrays = segment(made("(orders)"))
    assert set(postings(arrays, "text")) == {b"name\x1forders", b"name\x1forder"}


def test_words_weigh_by_field_and_length():
    arrays = segment(made("sales", description=("of sales",)), made("x", description=("sales",)))
    name = 10 / (1 - weights.B + weights.B * 1 / weights.AVERAGE_NAME)
    long, short = (
        2 / (1 - weights.B + weights.B * length / weights.AVERAGE_PROSE) for length in (2, 1)
    )

    def impact(weight):
        return round(255 * weight / (weight + weights.K))

    assert impacts(arrays, "words") == {
        b"of": {0: impact(long)},
        b"sale": {0: impact(0.8 * (name + long)), 1: impact(0.8 * short)},
        b"sales": {0: impact(name + long), 1: impact(short)},
        b"x": {1: impact(name)},
    }
    assert postings(arrays, "words")[b"sales"] == {0: [0, 130], 1: [129]}


def test_impacts_do_not_depend_on_the_neighbours():
    document = made("a_b", description=("some words " * 40,), columns_name=("x", "some_x"))
    alone = segment(document)
    among = segment(*(made(f"n{n}", description=(f"words {n}",)) for n in range(50)), document)
    for field in ("text", "words"):
        number = 0
        assert {term: found[0] for term, found in impacts(alone, field).items()} == {
            term: found[number] for term, found in impacts(among, field).items() if number in found
        }


def test_finish_begins_another_segment_that_remembers_no_document():
    inverter = Inverter()
    documents = [made("a", x=("some words",)), made("b", y=("other words",))]
    for document in documents:
        inverter.add(document)
        arrays = inverter.finish()
        again = segment(document)
        assert arrays.keys() == again.keys()
        for name, array in arrays.items():
            np.testing.assert_array_equal(array, again[name], name)
    assert len(inverter) == 0


def test_finish_forgets_paths_when_they_are_many():
    inverter = Inverter(max_bytes=6_000_000)
    tracemalloc.start()
    try:
        inverter.add(made("a", **{f"extension_k{number}": (1,) for number in range(2_000)}))
        inverter.finish()
        gc.collect()
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 500_000


def test_full_after_so_many_documents():
    inverter = Inverter(max_documents=2)
    inverter.add(made("a"))
    assert not inverter.full
    inverter.add(made("b"))
    assert inverter.full
    inverter.finish()
    assert not inverter.full


def wide(number):
    """A document of 2,000 different values of ten words each."""
    again = "some words that come again and again here"
    values = tuple(f"{number}x{n} {again}" for n in range(2_000))
    return made(f"wide{number}", columns_description=values)


def test_values_of_few_wide_documents_are_remembered_until_a_segment_uses_few_of_them():
    inverter = Inverter(max_bytes=9_000_000)
    inverter.add(wide(1))
    inverter.finish()
    remembered = inverter.bytes
    assert 1_125_000 < remembered < 3_000_000
    inverter.add(wide(1))
    inverter.finish()
    assert inverter.bytes == remembered
    inverter.add(made("small", x=("some words",)))
    inverter.finish()
    assert inverter.bytes < 1_000


def test_values_of_few_documents_are_forgotten_where_they_take_more_than_a_third():
    inverter = Inverter(max_bytes=6_000_000)
    inverter.add(wide(1))
    inverter.finish()
    assert inverter.bytes < 1_000


@pytest.mark.parametrize(("documents", "are_remembered"), [(255, True), (256, False)])
def test_values_of_many_documents_are_forgotten_where_they_take_more_than_an_eighth(
    documents, are_remembered
):
    inverter = Inverter(max_bytes=9_000_000)
    for number in range(documents):
        texts = tuple(f"{number}x{n} words that come again" for n in range(5))
        inverter.add(made(f"n{number}", columns_description=texts))
    inverter.finish()
    assert (inverter.bytes > 1_125_000) is are_remembered


def test_making_a_segment_of_wide_documents_takes_about_the_bytes_estimated():
    inverter = Inverter(max_bytes=20_000_000)
    tracemalloc.start()
    try:
        added = 0
        while not inverter.full:
            inverter.add(wide(added))
            added += 1
        estimated = inverter.bytes
        inverter.finish()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert estimated < 22_000_000 + TOKEN_BYTES * 40_000
    assert 0.5 < peak / estimated < 1.5
    assert 1 < added < 20


def test_array_file_is_read_as_written():
    arrays = segment(made("a", description=("some words",)))
    stream = io.BytesIO()
    file = ArrayFile(stream)
    for name, array in arrays.items():
        slot = file.reserve(name, array.dtype, array.size)
        slot.write(array[:3])
        slot.write(array[3:])
    file.finish()
    read = unpack(stream.getvalue())
    assert read.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, read[name], name)
        assert array.dtype == read[name].dtype


def test_array_file_refuses_more_than_was_reserved():
    slot = ArrayFile(io.BytesIO()).reserve("x", np.int32, 2)
    with pytest.raises(ValueError, match="x has more than 2 elements"):
        slot.write(np.arange(3))


@pytest.mark.parametrize("data", [b"", b"catalog", b"something else that is long enough"])
def test_unpack_refuses_what_is_no_such_file(data):
    with pytest.raises(ValueError, match="not a file of arrays"):
        unpack(data)
