"""The horizon of a sorted read model: the past before it is gone, all else is as it was."""

import json
import random
import tempfile
import threading
from collections.abc import Callable
from contextlib import ExitStack, closing
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.postgres_server import PostgresServer
from domain.errors import BeforeHorizon
from domain.event_store.entity_reads import RecordedEvent, StreamSpan
from domain.event_store.port import EventStore
from domain.events import EntityChanged, EntityCreated, encode
from domain.reading.horizon import Horizon
from domain.reading.moments import LogDays, recorded_moments
from projections.entities.daily_counts import DailyFigures
from projections.entities.list_pages import list_page
from projections.entities.list_port import Include, ListRequest, PastOfList
from projections.entities.past_verification import past_differences
from projections.entities.port import SortedReadModel
from projections.entities.postgres.model import PostgresReadModel
from projections.entities.projection import EntityProjection
from projections.entities.replaced_states import ANY_STATUS
from projections.entities.single_entities import folded_fields
from projections.entities.sqlite import bulk_load
from projections.entities.sqlite.model import SqliteReadModel, open_read_model
from projections.feeding.projector import Projector
from tests.depth import examples
from tests.postgres_models import postgres_model
from tests.projections.entities.random_log import STATUSES, RandomLog
from tests.projections.entities.test_past_lists import CONTRACT, TABLE, assert_past_is_that_of_then
from tests.projections.entities.test_past_rows import opened_log, project, rows_of
from tests.waiting import until

PRUNED = ("entities", "scopes", "history", "history_scopes", "kind_totals", "pasts", "days")
"""Tables whose rows depend on the log and the horizon alone, however it got there."""
WIDE = "00000000-0000-7000-8000-000000000001"
KINDS = ("databaseSchema", "table", "dataContract")

Model = SqliteReadModel | PostgresReadModel


def prune(model: SortedReadModel, upto: int, most: int = 1_000) -> None:
    """Move the horizon to a position, in steps."""
    while model.horizon().position < min(upto, model.checkpoint()):
        model.prune(upto, most)


def grown(model: SortedReadModel, log: EventStore, rng: random.Random) -> None:
    """Apply a log in batches of any size, and move the horizon beside it, in steps of any size."""
    while True:
        projector = Projector(EntityProjection(model), log, batch_size=rng.randint(1, 30))
        if not projector.step():
            return
        if rng.random() < 0.6:
            upto = rng.randint(0, model.checkpoint())
            before = model.horizon()
            after = model.prune(upto, rng.choice((1, 3, 1_000)))
            assert after == model.horizon()
            assert before.position <= after.position <= max(before.position, upto)


def refused(model: SortedReadModel, position: int) -> bool:
    """True if lists and lineages as of a position are refused, all of them."""
    past = PastOfList(position, 0, lambda entity_id, position: (b"{}", b"{}"))

    def read_list(limit: int) -> None:
        request = ListRequest(kind=CONTRACT, limit=limit, past=past)
        json.loads(b"".join(list_page(model, request)))

    def read_edges() -> None:
        with model.edges(past):
            pass

    reads = partial(read_list, 0), partial(read_list, 5), read_edges
    answers = {is_refused(read) for read in reads}
    assert len(answers) == 1
    return answers.pop()


def is_refused(read: Callable[[], None]) -> bool:
    """True if a read is refused as one before the horizon."""
    try:
        read()
    except BeforeHorizon:
        return True
    return False


def assert_right_from_the_horizon_on(
    model: Model, log: EventStore, rng: random.Random, lists_at: int = 12
) -> None:
    """Ask at each position whether it is refused, and compare lists at some random ones."""
    horizon = model.horizon().position
    for position in range(log.head() + 1):
        assert refused(model, position) is (position < horizon)
    assert_past_is_that_of_then(model, log, rng, since=horizon, positions=lists_at)
    with model.snapshot() as snapshot:
        assert [*past_differences(log, snapshot)] == []
    at = max((at for at, position in recorded_moments(log, horizon)), default=0)
    assert model.horizon() == Horizon(horizon, at)


def pruned_rows(model: Model) -> dict[str, list[tuple[Any, ...]]]:
    rows = rows_of(model)
    return {table: rows[table] for table in PRUNED}


def figures_of(model: Model) -> DailyFigures:
    """All that is told of days, with the totals at their ends."""
    series = [(kind, status) for kind in KINDS for status in (ANY_STATUS, *STATUSES)]
    return model.daily_figures(range(19_600, 19_800), series)


def assert_totals_are_thinned(model: Model, log: EventStore) -> None:
    """Before the horizon there is one total of a day, and one row of what is forgotten."""
    horizon, rows = model.horizon().position, rows_of(model)
    days = LogDays(recorded_moments(log, log.head()))
    totals = [(*row[:3], days.of(row[3])) for row in rows["kind_totals"] if row[3] <= horizon]
    forgotten = [row[:3] for row in rows["forgotten WHERE n <> 0"] if row[3] <= horizon]
    for each in (totals, forgotten):
        assert len(each) == len({*each})


@settings(max_examples=examples(40, quick=6), deadline=None)
@given(seed=st.integers(0, 2**32))
def test_past_from_the_horizon_on_is_that_of_then(seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder, opened_log(folder) as log:
        rng = random.Random(seed)
        RandomLog(rng, log).fill(40)
        with closing(open_read_model(Path(folder) / "entities.db")) as model:
            grown(model, log, rng)
            assert_right_from_the_horizon_on(model, log, rng)
            expected, figures = pruned_rows(model), figures_of(model)
            horizon = model.horizon().position
        bulk_load.load(Path(folder) / "loaded.db", log, lambda done, total: None)
        with closing(open_read_model(Path(folder) / "loaded.db")) as model:
            assert figures_of(model) == figures
            prune(model, horizon)
            assert pruned_rows(model) == expected
            assert figures_of(model) == figures
            assert_totals_are_thinned(model, log)


@settings(max_examples=examples(5, quick=2), deadline=None)
@given(seed=st.integers(0, 2**32))
def test_every_database_removes_the_same(postgres: PostgresServer, seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder, opened_log(folder) as log:
        rng = random.Random(seed)
        RandomLog(rng, log).fill(40)
        with postgres_model(postgres) as model:
            grown(model, log, rng)
            assert_right_from_the_horizon_on(model, log, rng, lists_at=4)
            expected, horizon = pruned_rows(model), model.horizon().position
        with closing(open_read_model(Path(folder) / "entities.db")) as file:
            project(file, log)
            prune(file, horizon, 7)
            assert pruned_rows(file) == expected


def has_grown(answers: list[bool], length: int) -> bool:
    return len(answers) > length


@pytest.mark.parametrize("backend", ["sqlite", "postgres"])
def test_read_beside_a_moving_horizon_is_right_or_refused(
    request: pytest.FixtureRequest, tmp_path: Path, backend: str
) -> None:
    with opened_log(str(tmp_path)) as log, ExitStack() as stack:
        RandomLog(random.Random(11), log).fill(60)
        model: Model
        if backend == "sqlite":
            model = stack.enter_context(closing(open_read_model(tmp_path / "entities.db")))
        else:
            model = stack.enter_context(postgres_model(request.getfixturevalue("postgres")))
        project(model, log)
        head = log.head()
        shown = [listed(model, log, position) for position in range(head + 1)]
        assert len({*shown}) > 10
        rng, answers = random.Random(12), list[bool]()

        def prune_beside() -> None:
            # A busy machine may run one of two threads alone for long.
            for upto in range(0, head + 1, 10):
                until(partial(has_grown, answers, len(answers)))
                prune(model, min(upto + 9, head), 1)

        pruning = threading.Thread(target=prune_beside, daemon=True)
        pruning.start()
        while pruning.is_alive():
            for _ in range(5):
                position = rng.randint(0, head)
                reached = model.horizon().position
                try:
                    assert listed(model, log, position) == shown[position]
                    assert position >= reached
                    answers.append(True)
                except BeforeHorizon:
                    assert position < model.horizon().position
                    answers.append(False)
        pruning.join()
        assert {*answers} == {True, False}
        assert listed(model, log, head) == shown[head]


@pytest.mark.parametrize("backend", ["sqlite", "postgres"])
def test_step_is_short_where_states_have_many_memberships(
    request: pytest.FixtureRequest, tmp_path: Path, backend: str
) -> None:
    """Writes wait for a step, and each membership of a list takes a part of it."""
    with opened_log(str(tmp_path)) as log, ExitStack() as stack:
        fill_with_labels(log, labels=1_000, changes=30)
        model: Model
        if backend == "sqlite":
            model = stack.enter_context(closing(open_read_model(tmp_path / "entities.db")))
        else:
            model = stack.enter_context(postgres_model(request.getfixturevalue("postgres")))
        project(model, log)
        steps = [0]
        while steps[-1] < log.head():
            steps.append(model.prune(log.head(), 1_000).position)

        # The first state that is replaced ends with the second event.
        assert steps[1] <= 3
        assert max(after - before for before, after in pairwise(steps[1:])) <= 2
        assert rows_of(model)["history"] == []


def fill_with_labels(log: EventStore, labels: int, changes: int) -> None:
    """Create a table with many labels, and change its description."""
    common: dict[str, Any] = {"kind": "table", "actor": "ann", "at": 1, "request_id": "r"}
    tags = [
        {"tagFQN": f"PII.l{number}", "source": "Classification", "labelType": "Manual"}
        for number in range(labels)
    ]
    created = EntityCreated(version=1, name="t", fqn="s.t", body={"tags": encode(tags)}, **common)
    log.append([RecordedEvent(WIDE, 1, created)])
    for number in range(2, changes + 2):
        patch = [{"op": "add", "path": "/description", "value": str(number)}]
        changed = EntityChanged(version=number, patch=patch, **common)
        log.append([RecordedEvent(WIDE, number, changed)])


def listed(model: SortedReadModel, log: EventStore, position: int) -> bytes:
    """The list of all tables at a position, with their total."""

    def fold(entity_id: str, position: int) -> tuple[bytes, bytes]:
        fields = folded_fields(log.streams([StreamSpan(entity_id)], upto=position))
        assert fields is not None
        return fields

    past = PastOfList(position, 0, fold)
    asked = ListRequest(kind=TABLE, limit=100, include=Include.ALL, fields=("owners",), past=past)
    return b"".join(list_page(model, asked))
