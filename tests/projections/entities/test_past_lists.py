"""A list at a position of the past is the one that a catalog of then would show."""

import json
import random
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.postgres_server import PostgresServer
from domain.aggregate.entity import Entity
from domain.event_store.entity_reads import RecordedEvent, StreamSpan
from domain.event_store.port import EventStore
from domain.events import EntityChanged, EntityCreated, Event, encode
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import KINDS
from domain.openmetadata import document
from domain.reading.history import folded
from projections.entities.list_pages import list_page
from projections.entities.list_port import Include, ListRequest, PastOfList
from projections.entities.name_filters import name_filter
from projections.entities.port import SortedReadModel
from projections.entities.sqlite.model import open_read_model
from projections.entities.stored_entity import split_fields, stored_entity
from projections.feeding.port import Folded
from tests.commits import store
from tests.contracts.plain_read_model import PlainReadModel
from tests.depth import examples
from tests.domain.conftest import World
from tests.postgres_models import postgres_model
from tests.projections.entities.random_log import OWNERS, STATUSES, RandomLog
from tests.projections.entities.test_past_rows import is_kept, opened_log, project, states

CONTRACT, TABLE = KINDS["dataContract"], KINDS["table"]


def requests(rng: random.Random) -> ListRequest:
    """A list in one of many forms."""
    kind = rng.choice((CONTRACT, TABLE))
    filters: dict[str, str] = {}
    if rng.random() < 0.6:
        filters["owner"] = rng.choice(OWNERS)
    names = None
    if kind is CONTRACT and rng.random() < 0.4:
        filters["entity"] = rng.choice(OWNERS)
    if kind is TABLE and rng.random() < 0.7:
        filters["tag"] = rng.choice(("PII", "Sensitive", "Tier1"))
    if kind is TABLE and rng.random() < 0.3:
        names = name_filter(kind, {"tableRegex": "[0-2]"}, exclude=rng.random() < 0.5)
    return ListRequest(
        kind=kind,
        limit=rng.choice((0, 1, 2, 5, 100)),
        fields=rng.choice(((), ("owners", "tags"))),
        include=rng.choice([*Include]),
        status=rng.choice(STATUSES) if kind is CONTRACT and rng.random() < 0.4 else None,
        filters=filters,
        names=names,
    )


def walk(
    model: SortedReadModel, request: ListRequest, **bounds: int
) -> Iterator[tuple[list[Any], int, bool, bool]]:
    """The pages of a list to its end, and from there to its beginning."""
    cursor: dict[str, str] = {}
    for way in ("after", "before"):
        while True:
            page = json.loads(b"".join(list_page(model, request.at(**cursor), **bounds)))
            paging = page["paging"]
            yield page["data"], paging["total"], "before" in paging, "after" in paging
            if way not in paging:
                break
            cursor = {way: paging[way]}


def then(log: EventStore, position: int, alive: dict[str, Entity], last: dict[str, Entity]) -> Any:
    """A read model of plain objects, of the entities of a position that are kept."""
    model = PlainReadModel()
    ends = {recorded.entity_id: recorded.position for recorded in log.read(0, 10_000, position)}
    rows = {
        key: stored_entity(Folded(one, ends[key]))
        for key, one in alive.items()
        if is_kept(one, last)
    }
    store(model, rows, position, "")
    return model


def assert_past_is_that_of_then(
    model: SortedReadModel,
    log: EventStore,
    rng: random.Random,
    since: int = 0,
    positions: int = 12,
) -> None:
    """Compare lists at random positions, none of them before `since`."""

    def fold(entity_id: str, position: int) -> tuple[bytes, bytes]:
        ((entity, _),) = folded(log.streams([StreamSpan(entity_id)], upto=position))
        core, optional = split_fields(entity)
        return document.encode(core), document.encode(optional)

    lives = [*states(log)]
    asked_for = [live for live in lives if live[0] >= since]
    for position, alive in rng.sample(asked_for, min(len(asked_for), positions)):
        plain = then(log, position, alive, lives[-1][1])
        for _ in range(4):
            request = requests(rng)
            past = PastOfList(position, 1_700_000_000_000, fold)
            asked = msgspec.structs.replace(request, past=past)
            expected = [*walk(plain, request)]
            assert [*walk(model, asked)] == expected
            # Read as a long page.
            assert [*walk(model, asked, most_rows=0, chunk_bytes=500)] == expected


@settings(max_examples=examples(40, quick=10), deadline=None)
@given(seed=st.integers(0, 2**32))
def test_list_of_the_past_is_that_of_then(seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder, opened_log(folder) as log:
        rng = random.Random(seed)
        RandomLog(rng, log).fill(40)
        with closing(open_read_model(Path(folder) / "entities.db")) as model:
            project(model, log)
            assert_past_is_that_of_then(model, log, rng)


@settings(max_examples=examples(5, quick=2), deadline=None)
@given(seed=st.integers(0, 2**32))
def test_list_of_the_past_is_that_of_then_in_postgres(postgres: PostgresServer, seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder, opened_log(folder) as log:
        rng = random.Random(seed)
        RandomLog(rng, log).fill(40)
        with postgres_model(postgres) as model:
            project(model, log)
            assert_past_is_that_of_then(model, log, rng, positions=4)


def test_second_filter_is_of_the_position_too(tmp_path: Path) -> None:
    common: dict[str, Any] = {"kind": "table", "actor": "ann", "at": 1, "request_id": "r"}
    labels = [{"tagFQN": "PII.Sensitive", "source": "Classification"}]
    body = {"owners": encode([{"id": OWNERS[0], "type": "user"}]), "tags": encode(labels)}
    events: list[Event] = [EntityCreated(version=1, name="t", fqn="s.t", body=body, **common)]
    for number, tags in enumerate(([], labels, []), start=2):
        patch = [{"op": "add", "path": "/tags", "value": tags}]
        events.append(EntityChanged(version=number, patch=patch, **common))
    with opened_log(str(tmp_path)) as log, closing(open_read_model(tmp_path / "e.db")) as model:
        for number, event in enumerate(events, start=1):
            log.append([RecordedEvent("00000000-0000-7000-8000-000000000001", number, event)])
        # With others that have the tag now, the owner is what is looked for first.
        for number in range(2, 5):
            event = EntityCreated(
                version=1,
                name=f"t{number}",
                fqn=f"s.t{number}",
                body={"tags": body["tags"]},
                **common,
            )
            log.append([RecordedEvent(f"00000000-0000-7000-8000-00000000000{number}", 1, event)])
        project(model, log)
        for filters in ({"owner": OWNERS[0], "tag": "PII"}, {"tag": "PII"}):
            found = [total(model, filters, position) for position in range(5)]
            assert found == [0, 1, 0, 1, 0]


def total(
    model: SortedReadModel, filters: dict[str, str], position: int, kind: EntityKind = TABLE
) -> int:
    past = PastOfList(position, 0, lambda entity_id, position: (b"{}", b"{}"))
    request = ListRequest(kind=kind, limit=5, filters=filters, past=past)
    page = json.loads(b"".join(list_page(model, request)))
    assert len(page["data"]) == page["paging"]["total"]
    return int(page["paging"]["total"])


@pytest.mark.parametrize("backend", ["SQLite", "PostgreSQL"])
def test_label_is_sought_by_its_name_of_then(
    tmp_path: Path, request: pytest.FixtureRequest, backend: str
) -> None:
    world = World(tmp_path / "events.db")
    classification = world.create("classification", "Old", description="")
    tag = world.create("tag", "Secret", classification="Old", description="")
    service = world.create("databaseService", "s", serviceType="Mysql")
    label = {"tagFQN": "Old.Secret", "source": "Classification"}
    world.patch(service, {"op": "add", "path": "/tags", "value": [label]})
    labelled = world.log.head()
    world.patch(tag, {"op": "replace", "path": "/name", "value": "Private"})
    renamed = world.log.head()
    world.patch(classification, {"op": "replace", "path": "/name", "value": "New"})
    if backend == "SQLite":
        opened: AbstractContextManager[SortedReadModel] = closing(
            open_read_model(tmp_path / "e.db")
        )
    else:
        opened = postgres_model(request.getfixturevalue("postgres"))
    with opened as model:
        project(model, world.log)
        for value in ("Old.Secret", "Old.Private", "New.Private", tag.id, "New", "Old"):
            found = [
                total(model, {"tag": value}, position, KINDS["databaseService"])
                for position in (labelled - 1, labelled, renamed, world.log.head())
            ]
            # By the former name of a classification alone nothing is found now.
            assert found == [0, 1, 1, int(value != "Old")], value
    world.log.close()
