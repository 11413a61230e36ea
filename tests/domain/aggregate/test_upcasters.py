"""Payloads of older schemas are lifted on reading, and nothing stored is rewritten."""

from typing import Any

import msgspec
import pytest

from domain.aggregate.upcasters import UPCASTERS, Payload, Upcasters, current_schema
from domain.errors import LaterRelease
from domain.event_store.entity_reads import RecordedEvent
from domain.event_store.mapper import EventMapper
from domain.events import EntityRestored, EntityStatusChanged

EVENT = EntityStatusChanged(
    kind="dataContract", actor="ann", at=1, version=2, request_id="r", status="Active"
)
CURRENT = (
    b'"kind":"dataContract","actor":"ann","at":1,"version":2,"requestId":"r","status":"Active"}'
)


def rename_state(payload: Payload) -> Payload:
    """Schema 1 of this made-up past called the status `state`."""
    payload["status"] = payload.pop("state")
    return payload


def spell_out(payload: Payload) -> Payload:
    """Schema 2 abbreviated statuses."""
    return payload | {"status": {"ACT": "Active"}[payload["status"]]}


TWO: Upcasters = {("entity.status-changed", 1): rename_state}
THREE: Upcasters = TWO | {("entity.status-changed", 2): spell_out}


def payload(**values: Any) -> bytes:
    common = {"kind": "dataContract", "actor": "ann", "at": 1, "version": 2, "requestId": "r"}
    return msgspec.json.encode(common | values)


def test_no_schema_has_changed_yet() -> None:
    assert UPCASTERS == {}
    assert current_schema("entity.status-changed", UPCASTERS) == 1


def test_old_payload_is_lifted_on_reading() -> None:
    mapper = EventMapper(upcasters=TWO)
    assert mapper.decode("entity.status-changed", payload(state="Active")) == EVENT


def test_upcasters_follow_each_other() -> None:
    mapper = EventMapper(upcasters=THREE)
    oldest, old, current = payload(state="ACT"), payload(schema=2, status="ACT"), b'{"schema":3,'
    assert mapper.decode("entity.status-changed", oldest) == EVENT
    assert mapper.decode("entity.status-changed", old) == EVENT
    assert mapper.decode("entity.status-changed", current + CURRENT) == EVENT


def test_schema_is_written_when_above_one() -> None:
    recorded = RecordedEvent("id", 1, EVENT)
    assert EventMapper().to_row(recorded)[3] == b"{" + CURRENT
    mapper = EventMapper(upcasters=TWO)
    *_, topic, state = mapper.to_row(recorded)
    assert state == b'{"schema":2,' + CURRENT
    assert mapper.decode(topic, state) == EVENT


def test_other_event_types_keep_their_schema() -> None:
    event = EntityRestored(kind="table", actor="ann", at=1, version=2, request_id="r")
    mapper = EventMapper(upcasters=TWO)
    *_, state = mapper.to_row(RecordedEvent("id", 1, event))
    assert state == b'{"kind":"table","actor":"ann","at":1,"version":2,"requestId":"r"}'
    assert mapper.decode("entity.restored", state) == event


def test_unknown_type_is_of_a_later_release() -> None:
    with pytest.raises(LaterRelease, match=r"the type 'entity\.merged', which this release"):
        EventMapper().decode("entity.merged", payload())


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"status": "Active", "door": "mcp"}, "the field 'door' of entity.status-changed"),
        ({"status": "Active", "schema": 2}, "a schema of entity.status-changed above 1"),
        ({"status": "Active", "kind": "spreadsheet"}, "the kind 'spreadsheet'"),
    ],
)
def test_what_a_later_release_has_added_to_a_payload_is_refused(
    given: dict[str, Any], what: str
) -> None:
    with pytest.raises(LaterRelease, match=f"an event has {what}, which this release"):
        EventMapper().decode("entity.status-changed", payload(**given))


def test_schema_above_that_of_the_upcasters_is_refused() -> None:
    with pytest.raises(LaterRelease, match=r"schema 3 of entity\.status-changed"):
        EventMapper(upcasters=TWO).decode("entity.status-changed", payload(schema=3))


@pytest.mark.parametrize("state", [b"", b"{", b"[]", b'{"kind":"table"}', b"\xff"])
def test_damaged_payload_is_an_error(state: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        EventMapper().decode("entity.restored", state)
