"""Searches as of a position are those of an index made of the log up to there, less what was purged
since.
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.aggregate.entity import Entity
from domain.errors import StoreUnavailable
from domain.event_store.opening import open_event_log
from domain.event_store.port import EventStore
from domain.openmetadata.document import encode, fields
from projections.search.documents.documents import SORTABLE, SearchDocument, document
from projections.search.documents.sources import object_reader
from projections.search.engine import (
    SCORE,
    DocumentChanges,
    EngineQuery,
    Facet,
    SearchEngine,
    Sort,
    StateEntry,
)
from projections.search.index.engine import WhooshEngine
from projections.search.language import filter_json, text
from projections.search.tree import MatchAll
from tests.brief_engines import TIME_ENOUGH, brief_engine
from tests.depth import examples
from tests.projections.search.questions import Questions
from tests.projections.search.random_histories import RandomHistory, index

seeds = st.integers(0, 2**32 - 1)


@contextmanager
def opened_log() -> Iterator[EventStore]:
    with tempfile.TemporaryDirectory() as directory:
        log = open_event_log(str(Path(directory, "events.db")))
        try:
            yield log
        finally:
            log.close()


def queries(random: Random, documents: list[SearchDocument], count: int) -> Iterator[EngineQuery]:
    """Questions of all shapes about some documents."""
    questions = Questions(random, documents)
    kinds = sorted({document.kind for document in documents})
    for number in range(count):
        node = text.parsed(questions.query()).node if number % 4 else MatchAll()
        filters = [
            filter_json.parse(msgspec.json.encode(clause))
            for clause in (questions.filter(), questions.filter())
        ]
        some = frozenset(random.sample(kinds, random.randint(1, len(kinds))))
        path = random.choice((SCORE, *SORTABLE))
        aggregations = [questions.aggregation() for _ in range(random.choice((0, 2)))]
        yield EngineQuery(
            tree=node,
            filter=filters[0] if filters and number % 3 == 0 else None,
            post_filter=filters[-1] if filters and number % 5 == 0 else None,
            kinds=random.choice((None, some)),
            visible=random.choice((None, some)),
            include_deleted=random.random() < 0.5,
            sort=random.choice((None, None, Sort(path, random.random() < 0.5))),
            offset=random.choice((0, 0, 3)),
            size=random.choice((3, 100)),
            facets=tuple(map(Facet, aggregations)),
        )


def bodies(entities: Mapping[str, Entity], ids: Sequence[str]) -> Mapping[str, bytes]:
    """The JSON of the entities with these ids, in which nested conditions look."""
    return {i: encode(fields(entities[i])) for i in ids if i in entities}


def states(engine: SearchEngine) -> list[StateEntry]:
    with engine.snapshot() as snapshot:
        known = snapshot.states()
        assert known is not None
        return sorted(known)


@settings(max_examples=examples(60, quick=4))
@given(seed=seeds)
def test_any_search_at_any_position_equals_an_index_made_then(seed: int) -> None:
    random = Random(seed)
    with opened_log() as log:
        past = RandomHistory(log, random)
        engine = brief_engine()
        for _ in range(3):
            past.grow(random.randint(1, 60))
            index(engine, log, batch_size=random.choice((1, 7, 50, 500)))
        if random.random() < 0.3:
            engine.compact()
        head, matched = log.head(), 0
        for position in (head, *random.sample(range(1, head + 1), min(head, 2))):
            then = past.engine_at(position)
            entities = {state.entity.id: state.entity for state in past.states_at(position)}
            documents = [document(entity) for entity in entities.values()]
            read = object_reader(partial(bodies, entities))
            for query in queries(random, documents, 12) if documents else ():
                expected = then.search(query, read)
                asked = msgspec.structs.replace(query, at=position)
                assert engine.search(asked, read) == expected, (
                    f"seed {seed}, as of {position}: {query}"
                )
                matched += expected.total > 0
        assert matched or not past.living()


@settings(max_examples=examples(40, quick=8))
@given(seed=seeds)
def test_pages_as_of_a_position_have_every_hit_once(seed: int) -> None:
    random = Random(seed)
    with opened_log() as log:
        past = RandomHistory(log, random, entities=6)
        past.grow(60)
        engine = brief_engine()
        index(engine, log, batch_size=500)
        engine.compact()
        position = random.randint(1, log.head())
        sort = Sort(
            random.choice((SCORE, "name", "updatedAt", "displayName")), random.random() < 0.5
        )
        query = EngineQuery(
            tree=MatchAll(), sort=sort, include_deleted=True, at=position, size=1_000
        )
        whole = engine.search(query)
        after, walked = None, []
        while page := engine.search(
            msgspec.structs.replace(query, size=1, search_after=after)
        ).hits:
            walked += page
            assert len(walked) <= len(whole.hits), f"seed {seed}: a hit comes twice"
            after = page[-1].sort
        assert tuple(walked) == whole.hits, f"seed {seed}"
        expected = {state.entity.id for state in past.states_at(position)}
        assert {hit.id for hit in walked} == expected


@pytest.fixture
def past(tmp_path: Path) -> Iterator[RandomHistory]:
    """A history of six entities."""
    log = open_event_log(str(tmp_path / "events.db"))
    made = RandomHistory(log, Random(3), entities=6)
    made.grow(60)
    yield made
    log.close()


def everything(engine: SearchEngine, at: int | None = None) -> dict[str, Any]:
    query = EngineQuery(tree=MatchAll(), include_deleted=True, size=100, at=at)
    return {hit.id: hit.sort for hit in engine.search(query).hits}


def test_purge_takes_an_entity_out_of_the_past(past: RandomHistory) -> None:
    engine = brief_engine()
    index(engine, past.log, 500)
    before, purged = past.log.head(), past.living()[0]
    assert sum(entry.id == purged for entry in states(engine)) > 1
    assert purged in everything(engine, before)

    past.change(purged)
    past.purge(purged)
    index(engine, past.log, 500)

    assert [entry for entry in states(engine) if entry.id == purged] == []
    for position in range(1, past.log.head() + 1):
        assert purged not in everything(engine, position)
    engine.compact()
    assert purged not in everything(engine, before)


def test_another_process_finds_the_same_past(past: RandomHistory, tmp_path: Path) -> None:
    writer = WhooshEngine.open(tmp_path / "search", deadline=TIME_ENOUGH)
    index(writer, past.log, 10)
    past.purge(past.living()[0])
    index(writer, past.log, 10)
    reader = WhooshEngine.open(tmp_path / "search", writable=False, deadline=TIME_ENOUGH)
    try:
        assert states(reader) == states(writer)
        for position in range(1, past.log.head() + 1):
            assert everything(reader, position) == everything(writer, position)
        past.change(past.living()[0])
        index(writer, past.log, 10)
        head = past.log.head()
        assert everything(reader, head) == everything(writer, head)
    finally:
        reader.close()
        writer.close()


def test_commit_that_fails_leaves_the_past_as_it_was(past: RandomHistory) -> None:
    engine = brief_engine()
    index(engine, past.log, 500)
    before = states(engine)
    checkpoint = engine.checkpoint_and_fingerprint()

    def broken() -> Iterator[SearchDocument]:
        yield document(next(past.states_at(1)).entity, 1, 2)
        raise StoreUnavailable("the log cannot be read")

    changes = DocumentChanges({}, checkpoint[0] + 1, checkpoint, "x", None, broken())
    with pytest.raises(StoreUnavailable, match="the log cannot be read"):
        engine.apply(changes)
    assert (engine.checkpoint_and_fingerprint(), states(engine)) == (checkpoint, before)
