"""Damage of the past that the sorted read model keeps is found and named."""

import sqlite3
from contextlib import closing

import pytest

from domain.reading.horizon import Horizon
from projections.search.documents.documents import document
from projections.search.engine import DocumentChanges
from projections.verification.report import Difference, Verdict
from tests.projections.verification.conftest import Verified


@pytest.fixture
def changed(filled: Verified) -> Verified:
    """Entities with replaced states, ended memberships, and one that is purged."""
    orders = filled.orders.entity.id
    for value in ("first", "second"):
        filled.patch("table", orders, "/description", value)
    owner = filled.create("user", "ann", email="ann@example.org").entity
    reference = {"id": owner.id, "type": "user"}
    for owners in ([reference], []):
        filled.patch("table", orders, "/owners", owners)
    filled.index()
    return filled


def found(changed: Verified) -> list[Difference]:
    result = changed.verify()
    entities, search = result.projections
    assert (result.log.verdict, search.verdict) == (Verdict.EQUAL, Verdict.EQUAL)
    return entities.differences


def test_past_that_was_projected_is_equal(changed: Verified) -> None:
    assert found(changed) == []
    rows = changed.entities.database.connection.execute
    assert rows("SELECT count(*) FROM history").fetchone()[0] > 4
    assert rows("SELECT count(*) FROM history_scopes").fetchone()[0] > 0
    assert rows("SELECT count(*) FROM forgotten WHERE n <> 0").fetchone()[0] > 0


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("UPDATE history SET core = x'7b7d' WHERE {first}", "service.database.schema.orders"),
        ("UPDATE history SET since = since - 1 WHERE {first}", "service.database.schema.orders"),
        ("UPDATE history SET digest = x'00' WHERE {first}", "service.database.schema.orders"),
        ("DELETE FROM history WHERE {first}", "service.database.schema.orders"),
        (
            "INSERT INTO history SELECT kind, deleted, name, id, fqn, status, scopes, 1, 2, core,"
            " optional, digest FROM entities WHERE name = 'orders'",
            "service.database.schema.orders",
        ),
        (
            "UPDATE history_scopes SET since = since - 1 WHERE rowid_ = 1",
            "memberships that ended",
        ),
        ("DELETE FROM history_scopes WHERE rowid_ = 1", "memberships that ended"),
        ("UPDATE pasts SET n = n + 1 WHERE kind = 'table'", "kept number and digest"),
        ("UPDATE pasts SET sum = x'00' WHERE kind = 'table'", "kept number and digest"),
    ],
)
def test_wrong_row_of_the_past_is_named(changed: Verified, statement: str, named: str) -> None:
    first = "(id, until) = (SELECT id, min(until) FROM history WHERE name = 'orders')"
    one = "(scope, id) = (SELECT scope, id FROM history_scopes WHERE scope LIKE 'owner%' LIMIT 1)"
    changed.edit(statement.format(first=first).replace("rowid_ = 1", one))

    differences = found(changed)

    assert (differences[0].sort, differences[0].kind) == ("past", "table")
    assert named in [one.name for one in differences]


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("UPDATE days SET n = n + 1 WHERE what = 'events' AND kind = 'table'", "events"),
        ("UPDATE days SET n = n - 1 WHERE what = 'description' AND kind = 'table'", "description"),
        ("DELETE FROM days WHERE what = 'events' AND kind = 'table'", "events"),
        ("INSERT INTO days VALUES (3, 'table', 'owners', 1)", "owners"),
    ],
)
def test_wrong_count_of_a_day_is_named(changed: Verified, statement: str, named: str) -> None:
    changed.edit(statement)

    (difference,) = found(changed)

    assert (difference.sort, difference.kind) == ("past", "table")
    assert difference.name.startswith(f"{named} of day ")
    (pair,) = difference.fields
    assert pair.expected != pair.actual


@pytest.mark.parametrize("table", ["kind_totals", "forgotten"])
def test_wrong_total_of_the_past_is_named(changed: Verified, table: str) -> None:
    changed.edit(
        f"UPDATE {table} SET n = n + 7 WHERE (kind, status, deleted, position) = (SELECT kind,"
        f" status, deleted, min(position) FROM {table} WHERE kind = 'table' AND deleted = 0)"
    )

    differences = found(changed)

    assert {(one.sort, one.kind) for one in differences} == {("past", "table")}
    assert all(one.name.startswith("total at ") for one in differences)
    for one in differences:
        (pair,) = one.fields
        assert abs(pair.expected - pair.actual) == 7


@pytest.mark.parametrize("payload", [b"", b"{}", b'{"kind":"table"}'])
def test_past_is_not_compared_with_events_that_cannot_be_read(
    changed: Verified, payload: bytes
) -> None:
    damage(changed, payload)

    result = changed.verify()

    assert result.log.verdict is Verdict.DIFFERS
    for proof in result.projections:
        last = proof.differences[-1]
        assert (last.sort, last.name[:30]) == ("log", "not compared with the log, whi"), proof.name


def damage(changed: Verified, payload: bytes) -> None:
    """Give an event that has others before and behind it another payload."""
    with closing(sqlite3.connect(changed.directory / "events.db")) as connection, connection:
        one = "(SELECT min(rowid) FROM stored_events WHERE originator_version = 2)"
        connection.execute(f"UPDATE stored_events SET state = ? WHERE rowid = {one}", (payload,))


@pytest.fixture
def pruned(changed: Verified) -> Verified:
    """The same, with the horizon where half of the changes of a table are before it."""
    row = changed.entities.database.connection.execute(
        "SELECT until FROM history WHERE name = 'orders' ORDER BY until LIMIT 1 OFFSET 1"
    ).fetchone()
    changed.horizon = changed.entities.prune(row[0], 1_000)
    assert changed.horizon.position == row[0]
    assert changed.engine.forget(changed.horizon)
    return changed


def test_past_from_the_horizon_on_is_equal(pruned: Verified) -> None:
    assert found(pruned) == []
    numbers = pruned.entities.database.connection.execute(
        "SELECT count(*), min(until) > ? FROM history", (pruned.horizon.position,)
    )
    assert numbers.fetchone() == (2, 1)


def test_state_that_is_missing_above_the_horizon_is_named(pruned: Verified) -> None:
    pruned.edit("DELETE FROM history WHERE until = (SELECT min(until) FROM history)")
    assert "service.database.schema.orders" in {one.name for one in found(pruned)}


def test_membership_that_is_missing_above_the_horizon_is_told(pruned: Verified) -> None:
    pruned.edit(
        "DELETE FROM history_scopes WHERE (scope, id, until) ="
        " (SELECT scope, id, min(until) FROM history_scopes)"
    )
    assert "memberships that ended" in {one.name for one in found(pruned)}


def test_state_that_should_be_gone_is_named(pruned: Verified) -> None:
    ended = pruned.horizon.position
    pruned.edit(
        "INSERT INTO history SELECT kind, deleted, name, id, fqn, status, scopes, ?, ?, core,"
        " optional, digest FROM entities WHERE name = 'orders'",
        ended - 1,
        ended,
    )
    named = {one.name: one.fields[0] for one in found(pruned)}
    pair = named["service.database.schema.orders"]
    assert (pair.expected, pair.actual) == (None, f"{ended - 1} to {ended}")


def test_membership_that_should_be_gone_is_told(pruned: Verified) -> None:
    pruned.edit(
        "INSERT INTO history_scopes SELECT scope, kind, deleted, name, id, ?, 1, status FROM scopes"
        " WHERE kind = 'table' LIMIT 1",
        pruned.horizon.position,
    )
    assert "memberships that ended" in {one.name for one in found(pruned)}


def test_wrong_total_at_the_horizon_is_named(pruned: Verified) -> None:
    pruned.edit(
        "UPDATE kind_totals SET n = n + 7 WHERE kind = 'database' AND deleted = 0 AND status = ''"
    )
    assert ("database", f"total at {pruned.horizon.position}, live") in {
        (one.kind, one.name) for one in found(pruned)
    }


def test_searched_state_that_should_be_gone_is_named(pruned: Verified) -> None:
    head = Horizon(pruned.entities.checkpoint())
    pruned.entities.prune(head.position, 1_000)
    pruned.engine.forget(head)
    checkpoint = pruned.engine.checkpoint_and_fingerprint()
    orders = pruned.orders.entity
    late = [document(orders, head.position - 1, head.position)]
    changes = DocumentChanges({}, checkpoint[0], checkpoint, checkpoint[1], None, late)
    pruned.engine.apply(changes)
    entities, search = pruned.verify().projections
    assert entities.differences == []
    assert [(one.sort, one.id) for one in search.differences] == [("past", orders.id)]
