"""Damage of the sorted read model is found and named."""

from typing import Any

import msgspec
import pytest

from projections.verification.report import FieldPair, Verdict
from tests.domain.drawing import draw
from tests.domain.older_log import add_twin
from tests.projections.verification.conftest import Verified

ZERO = "00000000-0000-7000-8000-000000000000"


def found(filled: Verified, **request: Any) -> list[tuple[str, str, str, list[FieldPair]]]:
    """The differences of the sorted read model, when it and nothing else differs."""
    result = filled.verify(**request)
    assert (result.log.verdict, result.log.problems) == (Verdict.EQUAL, [])
    entities, search = result.projections
    assert (search.verdict, search.differences) == (Verdict.EQUAL, [])
    assert entities.verdict == result.verdict
    assert sum(entities.found.values()) >= len(entities.differences)
    return [(d.sort, d.kind, d.name, d.fields) for d in entities.differences]


def test_what_was_projected_is_equal_kind_by_kind(filled: Verified) -> None:
    result = filled.verify()

    assert result.verdict is Verdict.EQUAL
    assert [(p.name, p.verdict, p.position, p.entities) for p in result.projections] == [
        ("entities", Verdict.EQUAL, filled.log.head(), 7),
        ("search", Verdict.EQUAL, filled.log.head(), 7),
    ]
    for proof in result.projections:
        assert [(k.kind, k.replayed, k.stored, k.kept) for k in proof.kinds] == [
            ("dataContract", 2, 2, 2),
            ("database", 1, 1, 1),
            ("databaseSchema", 1, 1, 1),
            ("databaseService", 1, 1, 1),
            ("table", 2, 2, 2),
        ]
        for kind in proof.kinds:
            assert kind.replayed_digest == kind.stored_digest == kind.kept_digest


def test_two_contracts_of_a_table_from_before_the_rule_are_equal(filled: Verified) -> None:
    fqn = f"{filled.orders.entity.fqn}.dataContract_twin"
    first = filled.log.claim("dataContract", f"{filled.orders.entity.fqn}.dataContract_first")
    assert first is not None
    add_twin(filled.log, first.id, "twin", fqn)
    filled.index()
    result = filled.verify()
    assert result.verdict is Verdict.EQUAL
    held = [{kind.kind: kind.stored for kind in proof.kinds} for proof in result.projections]
    assert [each["dataContract"] for each in held] == [3, 3]


def test_edges_of_the_lineage_are_verified_as_entities_are(filled: Verified) -> None:
    other = filled.table("other")
    edge = draw(filled.catalog, filled.orders.entity, other.entity, sqlQuery="select 1").entity
    draw(filled.catalog, other.entity, filled.orders.entity)
    filled.index()
    result = filled.verify()
    assert result.verdict is Verdict.EQUAL
    held = [{kind.kind: kind.stored for kind in proof.kinds} for proof in result.projections]
    assert [each.get("lineageEdge") for each in held] == [2, None]
    filled.edit(
        "UPDATE entities SET core = CAST(replace(core, 'select 1', 'select 2') AS BLOB)"
        " WHERE id = ?",
        edge.id,
    )
    different, (_, _, _, sums) = found(filled)
    assert different == (
        "different",
        "lineageEdge",
        edge.fqn,
        [FieldPair("sqlQuery", "select 1", "select 2")],
    )
    assert [(pair.expected, pair.actual) for pair in sums if pair.name == "count"] == [(2, 2)]
    filled.edit("DELETE FROM scopes WHERE scope = ? AND id = ?", other.entity.id, edge.id)
    assert ("scope", "lineageEdge", edge.fqn) in [
        (sort, kind, name) for sort, kind, name, _ in found(filled)
    ]


def test_model_behind_the_log_is_compared_at_its_own_checkpoint(filled: Verified) -> None:
    checkpoint = filled.log.head()
    filled.table("later")
    filled.delete(filled.orders, hard=True)
    filled.project()

    result = filled.verify()

    assert result.verdict is Verdict.EQUAL
    assert [p.position for p in result.projections] == [checkpoint + 3, checkpoint]


def test_changed_row_is_named_with_the_differing_field(filled: Verified) -> None:
    filled.edit(
        "UPDATE entities SET core = CAST(replace(core, 'all orders', 'no orders') AS BLOB)"
        " WHERE name = 'orders'"
    )

    different, kept = found(filled)

    fields = [FieldPair("description", "all orders", "no orders")]
    assert different == ("different", "table", filled.orders.entity.fqn, fields)
    assert kept[:3] == ("digest", "table", "sums")


def test_row_with_bytes_that_are_no_text_is_named(filled: Verified) -> None:
    filled.edit(
        "UPDATE entities SET core = CAST(replace(core, 'all orders', x'ff') AS BLOB)"
        " WHERE name = 'orders'"
    )

    different, _ = found(filled)

    assert different[:3] == ("different", "table", filled.orders.entity.fqn)
    [field] = different[3]
    assert (field.name, field.expected) == ("core", "JSON")
    assert field.actual.startswith("no JSON: 'utf-8' codec can't decode byte 0xff")


def test_changed_column_of_a_row_is_named(filled: Verified) -> None:
    filled.edit("UPDATE entities SET position = position + 1 WHERE name = 'orders'")

    different, *others = found(filled)

    assert different[0] == "different"
    assert [field.name for field in different[3]] == ["position"]
    # What was there at a position is told by it too.
    assert {other[0] for other in others} <= {"digest", "past"}


def test_missing_row_is_named(filled: Verified) -> None:
    filled.edit("DELETE FROM entities WHERE name = 'orders'")

    missing, kept, *lists = found(filled)

    assert missing == ("missing", "table", filled.orders.entity.fqn, [])
    assert kept[3][0] == FieldPair("count", 1, 2)
    assert ("counter", "table", "total, live", [FieldPair("n", 0, 1)]) in lists


@pytest.mark.parametrize("entity_id", [ZERO, "ffffffff-0000-7000-8000-000000000000"])
def test_ghost_row_is_named(filled: Verified, entity_id: str) -> None:
    filled.edit(
        "INSERT INTO entities SELECT kind, deleted, name, ?, 'ghost', status, scopes, covered,"
        " position, last_event, core, optional, digest FROM entities WHERE name = 'dropped'",
        entity_id,
    )

    sorts = [(sort, name) for sort, _, name, _ in found(filled)]

    assert sorts[:2] == [("ghost", "ghost"), ("digest", "sums")]
    assert ("counter", "total, soft-deleted") in sorts


def test_row_of_a_purged_entity_is_a_ghost(filled: Verified) -> None:
    gone = next(
        r.entity_id for r in filled.log.read(0, 100) if getattr(r.event, "name", "") == "gone"
    )
    filled.edit(
        "INSERT INTO entities SELECT kind, deleted, 'gone', ?, 'gone', status, scopes, covered,"
        " position, last_event, core, optional, digest FROM entities WHERE name = 'dropped'",
        gone,
    )

    assert found(filled)[0] == ("ghost", "table", "gone", [])


def test_changed_counter_is_named(filled: Verified) -> None:
    filled.edit("UPDATE counters SET n = 5 WHERE scope = '' AND status = 'Active'")

    assert found(filled) == [
        ("counter", "dataContract", "total, live, status Active", [FieldPair("n", 1, 5)])
    ]


def test_changed_digest_is_named(filled: Verified) -> None:
    filled.edit("UPDATE digests SET n = n + 1 WHERE kind = 'database'")

    (kept,) = found(filled)

    assert kept[:3] == ("digest", "database", "sums")
    assert kept[3][0] == FieldPair("count", 1, 2)


def test_narrowed_list_that_lost_or_gained_an_entity_is_named(filled: Verified) -> None:
    orders = filled.orders.entity.id
    filled.edit("DELETE FROM scopes WHERE scope = ? AND name = 'first'", orders)
    filled.edit(
        "INSERT INTO scopes SELECT DISTINCT ?, kind, deleted, name, id, status, since FROM scopes"
        " WHERE name = 'second'",
        ZERO,
    )

    scopes = [d for d in found(filled) if d[0] == "scope"]

    assert [(kind, fields) for _, kind, _, fields in scopes] == [
        ("dataContract", [FieldPair(orders, "listed", None)]),
        ("dataContract", [FieldPair(ZERO, None, "listed")]),
    ]


def test_listing_is_bounded_and_counting_is_not(filled: Verified) -> None:
    with filled.entities.database.transaction() as connection:
        connection.execute("UPDATE entities SET position = position + 1")

    entities, _ = filled.verify(shown=2).projections

    assert len(entities.differences) == 2
    assert entities.found["different"] == 7


def test_model_of_another_log_is_damaged(filled: Verified) -> None:
    filled.edit("UPDATE checkpoint SET fingerprint = 'other'")

    entities, _ = filled.verify().projections

    assert entities.verdict is Verdict.DIFFERS
    assert "not of this log" in (entities.reason or "")


def test_sample_finds_what_it_draws_and_says_how_to_draw_it_again(filled: Verified) -> None:
    assert filled.verify(sample=100, seed=7).verdict is Verdict.EQUAL
    filled.edit("UPDATE entities SET fqn = 'other' WHERE name = 'orders'")

    first, second = (filled.verify(sample=100, seed=7) for _ in range(2))

    assert (first.seed, first.verdict) == (7, Verdict.DIFFERS)
    assert msgspec.json.encode(first) == msgspec.json.encode(second)
    assert first.projections[0].differences[0].fields == [
        FieldPair("fqn", filled.orders.entity.fqn, "other")
    ]
    assert first.projections[0].kinds == []


def test_moments_are_held_against_the_log(filled: Verified) -> None:
    for damage in (
        "UPDATE moments SET position = position + 1 WHERE at = (SELECT max(at) FROM moments)",
        "DELETE FROM moments WHERE at = (SELECT min(at) FROM moments)",
        "INSERT INTO moments SELECT max(at) + 1, 1 FROM moments",
    ):
        assert filled.verify().verdict is Verdict.EQUAL
        with filled.entities.database.transaction() as connection:
            kept = connection.execute("SELECT * FROM moments").fetchall()
        filled.edit(damage)
        ((sort, kind, name, (pair,)),) = found(filled)
        assert (sort, kind, name, pair.name) == ("moment", "", "moments", "time and position")
        assert pair.expected != pair.actual
        with filled.entities.database.transaction() as connection:
            connection.execute("DELETE FROM moments")
            connection.executemany("INSERT INTO moments VALUES (?,?)", kept)
