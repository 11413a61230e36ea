"""Conditions of an append under which its events are right: live parents and ends, nobody left."""

import sqlite3
from contextlib import closing
from typing import Any

from domain.event_store.writes import Expectations
from domain.writing.plans import Change, Step, expectations
from tests.domain.drawing import draw, erase
from tests.domain.folding import newest


def expected_of(world: Any, after: int) -> Expectations:
    """Return what an append of the events after a position would expect, entity by entity."""
    recorded = world.log.read(after, 99)
    ids = dict.fromkeys(each.entity_id for each in recorded)
    states = {entity_id: newest(world.log, entity_id) for entity_id in ids}
    return expectations(
        Step(None, [each for each in recorded if each.entity_id == entity_id], states[entity_id])
        for entity_id in ids
    )


def test_creations_and_restorations_expect_a_live_parent(world: Any) -> None:
    service = world.create("databaseService", "s", serviceType="Mysql")
    assert expected_of(world, 0) == Expectations()
    head = world.log.head()
    database = world.create("database", "d", service="s")
    assert expected_of(world, head) == Expectations(live=frozenset({service.id}))
    world.delete(database)
    head = world.log.head()
    world.restore(database)
    assert expected_of(world, head) == Expectations(live=frozenset({service.id}))
    head = world.log.head()
    world.put("database", "d", service="s", description="new")
    assert expected_of(world, head) == Expectations()


def test_deletions_expect_nobody_below(world: Any) -> None:
    service = world.create("databaseService", "s", serviceType="Mysql")
    database = world.create("database", "d", service="s")
    both, head = frozenset({service.id, database.id}), world.log.head()
    world.delete(service, recursive=True)
    assert expected_of(world, head) == Expectations(without_live_children=both)
    head = world.log.head()
    world.delete(service, hard=True, recursive=True)
    assert expected_of(world, head) == Expectations(without_children=both, without_edges=both)


def test_edges_expect_live_ends_when_they_are_drawn(world: Any) -> None:
    a, b = (world.create("databaseService", name, serviceType="Mysql") for name in "ab")
    head = world.log.head()
    draw(world.catalog, a, b)
    assert expected_of(world, head) == Expectations(live=frozenset({a.id, b.id}))
    head = world.log.head()
    draw(world.catalog, a, b, sqlQuery="select 1")
    erase(world.catalog, a, b)
    assert expected_of(world, head) == Expectations()


def test_write_that_changes_nothing_expects_nothing(world: Any) -> None:
    world.create("databaseService", "s", serviceType="Mysql")
    database = world.create("database", "d", service="s")
    assert expectations([Step(None, [], database)]) == Expectations()


def test_state_that_the_log_lost_is_forgotten(world: Any) -> None:
    """A log that was restored from a backup, or failed over, is behind what is remembered."""
    service = world.create("databaseService", "s", serviceType="Mysql")
    world.put("databaseService", "s", serviceType="Postgres")
    with closing(sqlite3.connect(world.path)) as connection, connection:
        connection.execute("DELETE FROM stored_events WHERE originator_version = 2")
    outcome = world.put("databaseService", "s", serviceType="Mysql", description="x")
    assert (outcome.change, outcome.entity.version) == (Change.UPDATED, 2)
    assert [event.stream_version for event in world.log.stream(service.id)] == [1, 2]
