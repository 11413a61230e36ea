"""An index whose horizon moves answers from there on as one that was made then, and not before."""

from functools import partial
from pathlib import Path
from random import Random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.errors import BeforeHorizon, StoreUnavailable
from domain.reading.horizon import Horizon
from projections.search.documents.documents import document
from projections.search.documents.sources import object_reader
from projections.search.engine import EngineQuery, SearchEngine
from projections.search.history_limit import LOOK_SECONDS, SearchHistoryLimit
from projections.search.index.engine import WhooshEngine
from projections.search.tree import MatchAll
from projections.search.verification_source import sorted_entries
from projections.verification.report import Verdict
from projections.verification.run import Request, verify
from tests.brief_engines import brief_engine
from tests.depth import examples
from tests.projections.search.random_histories import RandomHistory, index
from tests.projections.search.test_past import bodies, opened_log, queries, states

EVERYTHING = EngineQuery(tree=MatchAll(), size=100)


def refused(engine: SearchEngine, position: int) -> bool:
    """True if a search as of a position is refused."""
    try:
        engine.search(msgspec.structs.replace(EVERYTHING, at=position))
    except BeforeHorizon:
        return True
    return False


@settings(max_examples=examples(25, quick=4), deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_searches_from_the_horizon_on_are_those_of_then(seed: int) -> None:
    random = Random(seed)
    with opened_log() as log:
        past, horizon = RandomHistory(log, random), 0
        engine = brief_engine(deadline=300.0)
        for _ in range(3):
            past.grow(random.randint(1, 60))
            index(engine, log, batch_size=random.choice((1, 7, 50)))
            asked = random.randint(0, log.head())
            assert engine.forget(Horizon(asked, 7)) is (asked > horizon)
            horizon = max(horizon, asked)
            if random.random() < 0.3:
                engine.compact()
        head = log.head()
        for position in range(head + 1):
            assert refused(engine, position) is (position < horizon)
        assert all(state.until > horizon for state in states(engine))
        proof = verify(
            log,
            {"search": lambda: sorted_entries(engine, log)},
            Request(log=False, now=4_000_000_000_000),
        ).projections[0]
        assert proof.verdict is Verdict.EQUAL, proof.differences
        for position in {horizon, head, random.randint(horizon, head)}:
            then = past.engine_at(position)
            entities = {state.entity.id: state.entity for state in past.states_at(position)}
            documents = [document(entity) for entity in entities.values()]
            read = object_reader(partial(bodies, entities))
            for query in queries(random, documents, 8) if documents else ():
                then_and_now = msgspec.structs.replace(query, at=position)
                assert engine.search(then_and_now, read) == then.search(query, read), position


@pytest.fixture
def engine(tmp_path: Path) -> WhooshEngine:
    """An index of a random history, in which the horizon is at position 20."""
    with opened_log() as log:
        RandomHistory(log, Random(7)).grow(60)
        engine = WhooshEngine.open(tmp_path / "search")
        index(engine, log, batch_size=10)
    engine.forget(Horizon(20, 1_700_000_000_000))
    return engine


def test_horizon_stands_in_the_commit(engine: WhooshEngine, tmp_path: Path) -> None:
    reader = WhooshEngine.open(tmp_path / "search", writable=False)
    with reader.snapshot() as snapshot:
        assert (snapshot.horizon, snapshot.checkpoint[0]) == (Horizon(20, 1_700_000_000_000), 60)
    message = "from position 20 on, which the log reached at 2023-11-14T22:13:20.000Z, and 19 is"
    with pytest.raises(BeforeHorizon, match=message):
        reader.search(msgspec.structs.replace(EVERYTHING, at=19))
    with pytest.raises(StoreUnavailable, match="reading only"):
        reader.forget(Horizon(30, 0))
    assert not engine.forget(Horizon(20, 0))
    assert not engine.forget(Horizon(3, 0))
    for each in (reader, engine):
        each.close()


def test_what_died_is_left_out_by_merges(engine: WhooshEngine) -> None:
    kept = states(engine)
    engine.forget(Horizon(60, 0))
    engine.compact()
    assert states(engine) == [state for state in kept if state.until > 60]
    assert len(states(engine)) < len(kept)
    assert not refused(engine, 60)
    assert refused(engine, 59)
    engine.close()


def test_index_begins_anew_with_all_of_the_past(engine: WhooshEngine) -> None:
    engine.reset()
    assert not refused(engine, 0)
    engine.close()


def test_index_follows_once_it_has_applied_the_position(engine: WhooshEngine) -> None:
    now, horizon = 0.0, Horizon(61, 0)
    history = SearchHistoryLimit(lambda: horizon, lambda: horizon.position, clock=lambda: now)
    assert not history.step(engine)
    horizon = Horizon(40, 0)
    assert not history.step(engine)
    now += LOOK_SECONDS
    assert history.step(engine)
    assert (refused(engine, 39), refused(engine, 40)) == (True, False)
    now += LOOK_SECONDS
    assert not history.step(engine)
    engine.close()


def test_more_of_the_past_than_is_kept_is_told_once_with_what_brings_it_back(
    engine: WhooshEngine, caplog: pytest.LogCaptureFixture
) -> None:
    engine.forget(Horizon(40, 0))
    times = iter(range(0, 1_000, int(LOOK_SECONDS)))
    histories = [
        SearchHistoryLimit(Horizon, partial(int, due), clock=times.__next__) for due in (40, 39)
    ]
    assert [history.step(engine) for history in histories * 2] == [False] * 4
    engine.close()
    (told,) = [vars(each) for each in caplog.records if each.levelname == "WARNING"]
    assert (told["horizon"], told["mend"]) == (40, "catalog-replay rebuild search --force")
