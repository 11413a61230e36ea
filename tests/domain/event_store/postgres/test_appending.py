"""A write that is one event goes to the database by a shorter way, with the same outcome."""

from collections.abc import Sequence
from contextlib import closing

import pytest

from benchmarks.postgres_server import PostgresServer, new_schema
from domain.errors import StoreUnavailable
from domain.event_store.appends import prepared
from domain.event_store.entity_reads import RecordedEvent
from domain.event_store.opening import open_event_log
from domain.event_store.postgres.appending import event_parameters
from domain.event_store.writes import Expectations, RememberedAnswer
from tests.contracts.recorded import changed, created, deleted

LIVE = Expectations(live=frozenset({"parent"}))
ANSWER = RememberedAnswer(
    actor="ann", key="k", digest=b"d", entity_id="a", stream_version=1, outcome="created", at=1
)


def test_lone_events_take_the_short_way(postgres: PostgresServer) -> None:
    schema = new_schema()
    with closing(open_event_log(postgres.url(schema))) as log:
        # Whatever this refused would have to go the long way.
        postgres.run(f"DROP PROCEDURE {schema}.append_alone_2")
        assert log.append([created("parent")]) == 1
        assert log.append([created("child", parent_id="parent")], expecting=LIVE) == 2
        assert log.append([changed("child", 2)], expecting=LIVE) == 3
        late = changed("child", 2, size=2)
        for refused in (late, changed("child", 4), created("other", "parent")):
            with pytest.raises(StoreUnavailable, match="append_alone_2"):
                log.append([refused])
        assert [each.entity_id for each in log.read(0, 9)] == ["parent", "child", "child"]
        assert [each.id for each in log.claims(ids=["parent", "child", "other"])] == [
            "child",
            "parent",
        ]


@pytest.mark.parametrize(
    ("events", "answer", "expecting"),
    [
        ([], ANSWER, Expectations()),
        ([created("a")], ANSWER, Expectations()),
        ([created("a"), changed("a", 2)], None, Expectations()),
        ([deleted("a", 2)], None, Expectations()),
        ([created("a")], None, Expectations(sole=frozenset({("table", "p")}))),
        ([changed("a", 2)], None, Expectations(without_children=frozenset({"a"}))),
    ],
)
def test_everything_else_takes_the_long_way(
    events: Sequence[RecordedEvent], answer: RememberedAnswer | None, expecting: Expectations
) -> None:
    assert event_parameters(prepared(events, answer, expecting=expecting)) is None
