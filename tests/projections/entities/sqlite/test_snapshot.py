"""Narrowed lists beside what the entities say: nothing wrong escapes, and the work is linear."""

import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from projections.entities.sqlite.model import SqliteReadModel, open_read_model
from projections.entities.sqlite.snapshot import SqliteEntitySnapshot
from tests.commits import store
from tests.contracts.test_sorted_read_model import stored, uuid


@pytest.fixture
def model(tmp_path: Path) -> Iterator[SqliteReadModel]:
    opened = open_read_model(tmp_path / "entities.db")
    yield opened
    opened.close()


def work(model: SqliteReadModel) -> tuple[int, int]:
    """Steps of SQLite's machine, and JSON texts looked at, of one comparison."""
    counted: Counter[str] = Counter()

    def step() -> int:
        counted["steps"] += 1
        return 0

    def is_json(text: str) -> bool:
        counted["texts"] += 1
        return True

    with model.database.snapshot() as connection:
        connection.create_function("json_valid", 1, is_json, deterministic=True)
        connection.set_progress_handler(step, 1)
        assert [*SqliteEntitySnapshot(connection).list_differences()] == []
        connection.set_progress_handler(None, 0)
    return counted["steps"], counted["texts"]


def test_comparison_of_lists_is_linear_in_the_references_of_one_entity(
    model: SqliteReadModel,
) -> None:
    done = []
    for position, n in enumerate((200, 800), 1):
        query = stored(1, "q", "query", scopes=[uuid(number) for number in range(10, 10 + n)])
        store(model, {query.id: query}, position, "")
        done.append(work(model))

    (steps, texts), (more_steps, more_texts) = done
    assert texts == more_texts == 1
    # Four times the references; a look at each for each would be sixteen times the steps.
    assert more_steps < 4.2 * steps


WRONG = {
    "another status": "UPDATE scopes SET status = 'Active' WHERE name = 'a' AND scope = :ten",
    "another state": "UPDATE scopes SET deleted = 1 WHERE name = 'a' AND scope = :ten",
    "another name": "UPDATE scopes SET name = 'z' WHERE name = 'a' AND scope = :ten",
    "another kind": "UPDATE scopes SET kind = 'table' WHERE name = 'a' AND scope = :ten",
    "lost and gained": "UPDATE scopes SET scope = :nine WHERE name = 'a' AND scope = :ten",
    "none of several": "DELETE FROM scopes WHERE name = 'a'",
    "of no entity": "INSERT INTO scopes VALUES (:ten, 'query', 0, 'c', :nine, NULL, 1)",
    "entity gone": "DELETE FROM entities WHERE name = 'a'",
    "no JSON": "UPDATE entities SET scopes = '[' WHERE name = 'a'",
    "JSON null": "UPDATE entities SET scopes = '[null]' WHERE name = 'a'",
    "one value": "UPDATE entities SET scopes = json_quote(:ten) WHERE name = 'a'",
    # Counted twice, the one reference would hide the row of the other.
    "named twice": "UPDATE entities SET scopes = json_array(:ten, :ten) WHERE name = 'a'",
}


@pytest.mark.parametrize("damage", WRONG)
def test_every_row_that_departs_from_the_entities_is_found(
    model: SqliteReadModel, damage: str
) -> None:
    ten, eleven, nine = uuid(10), uuid(11), uuid(9)
    for number, name, scopes in ((1, "a", [ten, eleven]), (2, "b", [ten]), (3, "d", [])):
        query = stored(number, name, "query", scopes=scopes)
        store(model, {query.id: query}, number, "")
    with model.database.transaction() as connection:
        assert connection.execute(WRONG[damage], {"ten": ten, "nine": nine}).rowcount

    with model.database.snapshot() as connection:
        wrong = [
            (pair.actual == "listed", pair.name)
            for one in SqliteEntitySnapshot(connection).list_differences()
            for pair in one.fields
            if one.sort == "scope"
        ]
        assert wrong == expected(connection)
    assert wrong


def expected(connection: sqlite3.Connection) -> list[tuple[bool, str]]:
    """Return what the comparison should find, by a look at every pair of a row and an entity."""
    said = "json_each(iif(json_valid(e.scopes), e.scopes, '[]')) one"
    same = (
        "s.scope = one.value AND s.kind = e.kind AND s.deleted = e.deleted AND s.name = e.name"
        " AND s.id = e.id AND s.status IS e.status"
    )
    missing = connection.execute(
        f"SELECT one.value FROM entities e, {said}"
        f" WHERE NOT EXISTS (SELECT 1 FROM scopes s WHERE {same})"
    )
    stray = connection.execute(
        f"SELECT scope FROM scopes s WHERE NOT EXISTS (SELECT 1 FROM entities e, {said}"
        f" WHERE {same}) ORDER BY scope, kind, deleted, name, id"
    )
    return [*((False, scope) for (scope,) in missing), *((True, scope) for (scope,) in stray)]


def test_write_of_an_entity_touches_only_the_lists_that_change(model: SqliteReadModel) -> None:
    scopes = [uuid(number) for number in range(10, 60)]
    before = stored(1, "q", "query", scopes=scopes)
    store(model, {before.id: before}, 1, "")
    connection = model.database.writer

    def rows(position: int, *scopes: str, name: str = "q") -> int:
        changed = stored(1, name, "query", scopes=list(scopes), position=position)
        count = connection.total_changes
        store(model, {changed.id: changed}, position, "")
        with model.snapshot() as snapshot:
            assert [*snapshot.list_differences()] == []
        return connection.total_changes - count

    alone = rows(2, *scopes)
    assert alone < 10
    # A row of a list and its total, each, for the one that goes and the one that comes; the one
    # that goes is kept as a row of the past.
    assert rows(3, *scopes[1:], uuid(99)) == alone + 5
    # Lists are in order of names, so another name is another row in each, and in the one of the
    # whole kind; totals stay.
    assert rows(4, *scopes[1:], uuid(99), name="r") == alone + 1 + 3 * len(scopes)
