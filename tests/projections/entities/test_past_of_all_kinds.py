"""Lists, totals, entities and searches of every kind at any position are those of a catalog that
was made of the log up to there, less what was purged since.
"""

import random
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.postgres_server import PostgresServer
from domain.aggregate.entity import Entity
from domain.errors import NotFound, Purged
from domain.event_store.entity_reads import StreamSpan
from domain.event_store.port import EventStore
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import KINDS
from domain.openmetadata import document
from domain.reading import history
from projections.entities.list_port import Include, ListRequest, PastOfList
from projections.entities.port import SortedReadModel
from projections.entities.sqlite.model import open_read_model
from projections.entities.stored_entity import split_fields
from projections.search.documents.documents import document as search_document
from projections.search.engine import EngineQuery
from projections.search.tree import MatchAll
from tests.brief_engines import brief_engine
from tests.commits import commit
from tests.depth import examples
from tests.postgres_models import postgres_model
from tests.projections.entities.log_of_all_kinds import LogOfAllKinds
from tests.projections.entities.test_past_lists import then, walk
from tests.projections.entities.test_past_rows import opened_log, project, states
from tests.projections.search.random_histories import index

Lives = list[tuple[int, dict[str, Entity]]]
"""Each position of a log, with the entities that there were."""


def request(rng: random.Random, made: LogOfAllKinds, kind: EntityKind) -> ListRequest:
    """A list of a kind with up to two of its filters."""
    parameters = rng.sample(
        sorted(kind.list_filters), rng.randint(0, 2) if kind.list_filters else 0
    )
    return ListRequest(
        kind=kind,
        limit=rng.choice((0, 2, 100)),
        fields=rng.choice(((), tuple(key for key in kind.optional if key != "verdict"))),
        include=rng.choice([*Include]),
        status=rng.choice(kind.statuses) if kind.statuses and rng.random() < 0.3 else None,
        filters={each: rng.choice(made.values(kind, each)) for each in parameters},
    )


def assert_lists_are_those_of_then(
    model: SortedReadModel, log: EventStore, made: LogOfAllKinds, lives: Lives, rng: random.Random
) -> None:
    def fold(entity_id: str, position: int) -> tuple[bytes, bytes]:
        ((entity, _),) = history.folded(log.streams([StreamSpan(entity_id)], upto=position))
        core, optional = split_fields(entity)
        return document.encode(core), document.encode(optional)

    for position, alive in rng.sample(lives, 3):
        plain = then(log, position, alive, lives[-1][1])
        for kind in KINDS.values():
            asked = request(rng, made, kind)
            expected = [*walk(plain, asked)]
            past = PastOfList(position, 0, fold)
            assert [*walk(model, msgspec.structs.replace(asked, past=past))] == expected, (
                position,
                asked,
            )


def assert_entities_are_those_of_then(log: EventStore, lives: Lives, rng: random.Random) -> None:
    known = {one.id: one.kind for _, alive in lives for one in alive.values()}
    for position, alive in rng.sample(lives, 3):
        for entity_id, kind in known.items():
            if kind not in KINDS:
                continue
            if entity_id not in lives[-1][1]:
                with pytest.raises(Purged):
                    history.as_of(log, KINDS[kind], entity_id, position)
            elif entity_id not in alive:
                with pytest.raises(NotFound, match=f"not there yet at position {position}"):
                    history.as_of(log, KINDS[kind], entity_id, position)
            else:
                found, last = history.as_of(log, KINDS[kind], entity_id, position)
                assert found == alive[entity_id]
                assert last <= position


def assert_searches_are_those_of_then(log: EventStore, lives: Lives, rng: random.Random) -> None:
    engine = brief_engine(deadline=300.0)
    index(engine, log, batch_size=rng.choice((7, 500)))
    position, alive = rng.choice(lives)
    of_then = brief_engine(deadline=300.0)
    kept: dict[str, Any] = {
        key: search_document(one)
        for key, one in alive.items()
        if key in lives[-1][1] and one.kind in KINDS
    }
    commit(of_then, kept, position)
    for kind in KINDS:
        query = EngineQuery(
            tree=MatchAll(),
            kinds=frozenset((kind,)),
            include_deleted=rng.random() < 0.5,
            size=rng.choice((0, 100)),
        )
        at = msgspec.structs.replace(query, at=position)
        assert engine.search(at) == of_then.search(query), (position, kind)


@settings(max_examples=max(1, examples(100) // 12), deadline=None)
@given(seed=st.integers(0, 2**32))
def test_past_of_every_kind_is_that_of_then(seed: int) -> None:
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder, opened_log(folder) as log:
        made = LogOfAllKinds(rng, log)
        made.fill(150)
        lives = [*states(log)]
        with closing(open_read_model(Path(folder) / "entities.db")) as model:
            project(model, log, rng.choice((1, 50, 1_000)))
            assert_lists_are_those_of_then(model, log, made, lives, rng)
        assert_entities_are_those_of_then(log, lives, rng)
        assert_searches_are_those_of_then(log, lives, rng)


@settings(max_examples=max(1, examples(40) // 20), deadline=None)
@given(seed=st.integers(0, 2**32))
def test_lists_of_every_kind_are_those_of_then_in_postgres(
    postgres: PostgresServer, seed: int
) -> None:
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder, opened_log(folder) as log:
        made = LogOfAllKinds(rng, log)
        made.fill(150)
        with postgres_model(postgres) as model:
            project(model, log, 50)
            assert_lists_are_those_of_then(model, log, made, [*states(log)], rng)
