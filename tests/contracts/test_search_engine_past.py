"""Searches as of a position, in every search engine: what they find and count is that of an index
made of the log up to there, less what was purged since.

Scores, and the order by them, are held to that by `tests/projections/search/test_past.py`, of the
engine that promises it.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from domain.errors import BeforeHorizon, StoreUnavailable
from domain.event_store.opening import open_event_log
from domain.reading.horizon import Horizon
from projections.search.bulk_build import load
from projections.search.documents.documents import document
from projections.search.documents.sources import object_reader
from projections.search.engine import EngineHits, EngineQuery, SearchEngine, Sort, StateEntry
from projections.search.tree import MatchAll
from tests.contracts.search_engines import BACKENDS, ids, opening
from tests.depth import examples
from tests.projections.search.aggregation_oracle import as_told
from tests.projections.search.random_histories import RandomHistory, index
from tests.projections.search.test_past import bodies, opened_log, queries

seeds = st.integers(0, 2**32 - 1)


@pytest.fixture(params=BACKENDS, scope="module")
def engine(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SearchEngine]:
    """An engine that each test and each example empties."""
    for open_one in opening(request, tmp_path_factory.mktemp("engine")):
        yield open_one()


def drawn(count: int) -> settings:
    """The engine is emptied by each example itself."""
    return settings(
        max_examples=examples(count, quick=4),
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )


def states(engine: SearchEngine) -> list[StateEntry]:
    with engine.snapshot() as snapshot:
        return sorted(snapshot.states())


def told(query: EngineQuery, hits: EngineHits) -> object:
    """What engines agree on: of hits by score all but their scores and their order."""
    in_order = [(hit.id, hit.kind, hit.sort) for hit in hits.hits]
    if query.sort is None or query.sort.field == "_score":
        in_order = sorted((hit.id, hit.kind, ()) for hit in hits.hits)
    return hits.total, hits.relation, in_order, [*map(as_told, hits.facets)], hits.timed_out


@drawn(8)
@given(seed=seeds)
def test_any_position_has_the_hits_totals_and_facets_of_an_index_made_then(
    engine: SearchEngine, seed: int
) -> None:
    random = Random(seed)
    engine.reset()
    assert engine.horizon() == Horizon()
    with opened_log() as log:
        past = RandomHistory(log, random)
        for _ in range(2):
            past.grow(random.randint(1, 60))
            index(engine, log, batch_size=random.choice((1, 7, 50, 500)))
        head, horizon = log.head(), random.choice((0, random.randint(1, log.head())))
        assert engine.forget(Horizon(horizon, 7)) is (horizon > 0)
        assert engine.horizon() == (Horizon(horizon, 7) if horizon else Horizon())
        if horizon:
            with pytest.raises(BeforeHorizon, match=f"from position {horizon} on"):
                ids(engine, at=horizon - 1)
        for position in {head, horizon or 1, random.randint(horizon, head)} - {0}:
            then = past.engine_at(position)
            entities = {state.entity.id: state.entity for state in past.states_at(position)}
            documents = [document(entity) for entity in entities.values()]
            read = object_reader(partial(bodies, entities))
            for query in queries(random, documents, 8) if documents else ():
                by_score = query.sort is None or query.sort.field == "_score"
                query = msgspec.structs.replace(
                    query, **({"size": 100, "offset": 0} if by_score else {})
                )
                asked = msgspec.structs.replace(query, at=position)
                assert told(query, engine.search(asked, read)) == told(
                    query, then.search(query, read)
                ), f"seed {seed}, as of {position}: {query}"
        assert all(state.until > horizon for state in states(engine))


@drawn(4)
@given(seed=seeds)
def test_batches_of_any_size_and_a_load_give_the_same_past(engine: SearchEngine, seed: int) -> None:
    random = Random(seed)
    with opened_log() as log:
        RandomHistory(log, random, entities=8).grow(60)
        engine.reset()
        load(engine, log, lambda done, total: None, most_states=random.choice((1, 9, 500)))
        loaded = states(engine)
        assert len({(entry.id, entry.since) for entry in loaded}) == len(loaded)
        for batch_size in (random.randint(1, 20), 500):
            engine.reset()
            index(engine, log, batch_size)
            assert states(engine) == loaded, f"seed {seed}, batches of {batch_size}"


@drawn(4)
@given(seed=seeds)
def test_pages_as_of_a_position_have_every_hit_once(engine: SearchEngine, seed: int) -> None:
    random = Random(seed)
    engine.reset()
    with opened_log() as log:
        past = RandomHistory(log, random, entities=6)
        past.grow(40)
        index(engine, log, batch_size=500)
        position = random.randint(1, log.head())
        sort = Sort(random.choice(("name", "updatedAt", "displayName")), random.random() < 0.5)
        query = EngineQuery(tree=MatchAll(), sort=sort, include_deleted=True, at=position, size=2)
        walked: list[str] = []
        after = None
        while page := engine.search(msgspec.structs.replace(query, search_after=after)).hits:
            walked += [hit.id for hit in page]
            after = page[-1].sort
        expected = [state.entity.id for state in past.states_at(position)]
        assert sorted(walked) == sorted(expected), f"seed {seed}"


@pytest.fixture
def past(tmp_path: Path) -> Iterator[RandomHistory]:
    """A history of six entities."""
    log = open_event_log(str(tmp_path / "events.db"))
    made = RandomHistory(log, Random(3), entities=6)
    made.grow(60)
    yield made
    log.close()


def test_purge_takes_an_entity_out_of_the_past(engine: SearchEngine, past: RandomHistory) -> None:
    engine.reset()
    index(engine, past.log, 500)
    before, purged = past.log.head(), past.living()[0]
    assert sum(entry.id == purged for entry in states(engine)) > 1
    assert purged in ids(engine, deleted=True, at=before)

    past.change(purged)
    past.purge(purged)
    index(engine, past.log, 500)

    assert [entry for entry in states(engine) if entry.id == purged] == []
    for position in range(1, past.log.head() + 1):
        assert purged not in ids(engine, deleted=True, at=position)
    assert len(states(engine)) > len(past.living())


def test_position_that_no_commit_has_yet_is_refused(
    engine: SearchEngine, past: RandomHistory
) -> None:
    engine.reset()
    index(engine, past.log, 500)
    head = past.log.head()
    assert ids(engine, at=head) == ids(engine)
    with pytest.raises(StoreUnavailable, match=f"up to position {head}, not {head + 1}: try again"):
        ids(engine, at=head + 1)
