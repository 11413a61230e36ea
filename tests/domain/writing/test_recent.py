"""Memory of recent entities is bounded by their number and by their bytes."""

import weakref
from typing import Any

import msgspec
import numpy as np
from msgspec import Raw

from domain.aggregate.entity import Entity
from domain.events import Body
from domain.writing.recent import RecentEntities


def entity(entity_id: str, size: int = 1, stream_version: int = 1, **values: Any) -> Entity:
    given = {
        "id": entity_id,
        "kind": "table",
        "name": entity_id,
        "fqn": entity_id,
        "parent_id": None,
        "body": {"description": Raw(b"1" * (size - size // 2)), "columns": Raw(b"1" * (size // 2))},
        "version": stream_version,
        "stream_version": stream_version,
        "updated_at": 1,
        "updated_by": "ann",
        "request_id": "r",
    }
    return Entity(**given | values)


def kept(recent: RecentEntities, ids: str) -> str:
    return "".join(each for each in ids if recent.get(each) is not None)


def test_recent_entities_are_bounded_by_their_number() -> None:
    recent = RecentEntities(2)
    for each in "abac":
        recent.keep(entity(each))
    assert kept(recent, "abc") == "ac"


def test_recent_entities_are_bounded_by_their_bytes() -> None:
    recent = RecentEntities(100, max_bytes=10)
    for each in "abcd":
        recent.keep(entity(each, 3))
    assert kept(recent, "abcd") == "bcd"
    recent.keep(entity("e", 7))
    assert kept(recent, "abcde") == "de"


def test_recent_entities_count_the_last_state_only() -> None:
    recent = RecentEntities(100, max_bytes=10)
    for stream_version in range(1, 6):
        recent.keep(entity("a", 6, stream_version))
        recent.keep(entity("b", 4, stream_version))
    newest = recent.get("a"), recent.get("b")
    assert newest == (entity("a", 6, 5), entity("b", 4, 5))


def test_recent_entities_hold_the_newest_however_large() -> None:
    recent = RecentEntities(100, max_bytes=10)
    recent.keep(entity("a"))
    recent.keep(entity("b", 11))
    assert kept(recent, "ab") == "b"
    recent.keep(entity("c"))
    assert kept(recent, "abc") == "c"


def test_recent_entities_do_not_hold_the_payload_of_a_creation_that_was_changed() -> None:
    payload = np.frombuffer(b'{"columns":"' + b"x" * 1_000 + b'","description":"d"}', np.uint8)
    body = msgspec.json.decode(memoryview(payload), type=Body)
    del body["columns"]
    recent = RecentEntities(100)
    recent.keep(entity("a", body=body, stream_version=2))
    held = weakref.ref(payload)
    del payload, body
    assert held() is None
    assert recent.get("a") == entity("a", body={"description": Raw(b'"d"')}, stream_version=2)


def test_state_that_is_kept_already_is_not_copied_but_stays_longer() -> None:
    recent = RecentEntities(2)
    recent.keep(entity("a", stream_version=2))
    held = recent.get("a")
    assert held is not None
    recent.keep(entity("b"))
    recent.keep(held)
    assert recent.get("a") is held
    recent.keep(entity("c"))
    assert kept(recent, "abc") == "ac"
