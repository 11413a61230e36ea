"""The stored form of events is a public format: golden payloads that are never edited.

`tests/golden/<type name>.<schema>.json` holds the bytes of one payload and a line end. A new
schema adds a file; the old file then goes through its upcaster.
"""

from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from domain import events
from domain.event_store.entity_reads import RecordedEvent
from domain.event_store.mapper import EventMapper
from domain.events import Event

GOLDEN = Path(__file__).parents[2] / "golden"
COMMON: dict[str, Any] = {
    "kind": "dataContract",
    "actor": "ann",
    "at": 1_718_000_000_123,
    "request_id": "01890a5d-ac96-774b-bcce-b302099a8057",
}
TABLE = "0190017e-5f00-7000-8000-000000000001"
USER = "0190017e-5f00-7000-8000-000000000002"

EXPECTED: dict[str, Event] = {
    "entity.created": events.EntityCreated(
        version=1,
        name="a.b Заказы",
        fqn='shop.db.public.orders."dataContract_a.b Заказы"',
        parent_id=TABLE,
        body={
            "entity": Raw(b'{"type":"table","id":"%s"}' % TABLE.encode()),
            "entityStatus": Raw(b'"Draft"'),
            "extension": Raw(b'{"ratio":1.50,"big":1e3}'),
        },
        **COMMON,
    ),
    "entity.changed": events.EntityChanged(
        version=2,
        patch=[
            {"op": "replace", "path": "/schema/3/description", "value": "An order."},
            {"op": "add", "path": "/owners", "value": [{"type": "user", "id": USER}]},
            {"op": "remove", "path": "/extension/a~1b"},
        ],
        **COMMON,
    ),
    "entity.status-changed": events.EntityStatusChanged(version=3, status="Active", **COMMON),
    "entity.soft-deleted": events.EntitySoftDeleted(version=4, **COMMON),
    "entity.restored": events.EntityRestored(version=10, **COMMON),
    "entity.purged": events.EntityPurged(version=10, **COMMON),
    "entity.renamed": events.EntityRenamed(
        version=4, name="b.c Заказы", fqn='shop."b.c Заказы"', **COMMON
    ),
    "contract.judged": events.ContractJudged(
        version=3,
        position=71,
        verdict="PartialSuccess",
        reasons="version 0.3; not evaluated: sla: latency",
        valid_until=1_718_000_360_000,
        **COMMON,
    ),
    "contract.breaking": events.ContractBreaking(
        version=4,
        before=3,
        bump="major",
        changes=[{"rule": "column.removed", "path": "schema.orders.properties.id"}],
        total=1,
        **COMMON,
    ),
}

VIA = events.EntitySoftDeleted(
    version=4,
    via=events.Via(
        door="mcp", what="change_entity", agent="helper", client="claude-code 2.1 Заказы"
    ),
    **COMMON,
)
JOB = events.EntitySoftDeleted(
    version=4, via=events.Via(door="openlineage", what="shop.load", run="r-1"), **COMMON
)
THROUGH_DOORS = {"mcp": VIA, "openlineage": JOB}
"""Door -> an event that came through it; the field is that of all types."""


def golden(type_name: str) -> bytes:
    return (GOLDEN / f"{type_name}.1.json").read_bytes().removesuffix(b"\n")


def test_every_event_type_has_a_golden_payload() -> None:
    assert sorted(path.name for path in GOLDEN.iterdir()) == sorted(
        f"{name}.1.json"
        for name in (*events.EVENT_TYPES, *(f"via.{door}" for door in THROUGH_DOORS))
    )


@pytest.mark.parametrize("door", THROUGH_DOORS)
def test_event_through_a_door_is_stored_as_exactly_the_golden_bytes(door: str) -> None:
    event, payload = THROUGH_DOORS[door], golden(f"via.{door}")
    assert EventMapper().to_row(RecordedEvent("some-id", 7, event))[3] == payload
    assert EventMapper().decode("entity.soft-deleted", payload) == event


def test_type_names_are_fixed() -> None:
    assert {name: type_.__name__ for name, type_ in events.EVENT_TYPES.items()} == {
        "entity.created": "EntityCreated",
        "entity.changed": "EntityChanged",
        "entity.status-changed": "EntityStatusChanged",
        "entity.soft-deleted": "EntitySoftDeleted",
        "entity.restored": "EntityRestored",
        "entity.purged": "EntityPurged",
        "entity.renamed": "EntityRenamed",
        "contract.judged": "ContractJudged",
        "contract.breaking": "ContractBreaking",
    }


@pytest.mark.parametrize("type_name", EXPECTED)
def test_golden_payload_is_read_as_the_expected_event(type_name: str) -> None:
    assert EventMapper().decode(type_name, golden(type_name)) == EXPECTED[type_name]


@pytest.mark.parametrize("type_name", EXPECTED)
def test_event_is_stored_as_exactly_the_golden_bytes(type_name: str) -> None:
    stored = EventMapper().to_row(RecordedEvent("some-id", 7, EXPECTED[type_name]))
    assert stored == ("some-id", 7, type_name, golden(type_name))


def test_entity_without_parent_has_no_parent_key() -> None:
    event = events.EntityCreated(version=1, name="a", fqn="a", body={}, **COMMON)
    stored = EventMapper().to_row(RecordedEvent("some-id", 1, event))
    assert stored[3] == (
        b'{"kind":"dataContract","actor":"ann","at":1718000000123,"version":1,'
        b'"requestId":"01890a5d-ac96-774b-bcce-b302099a8057","name":"a","fqn":"a","body":{}}'
    )
