"""Pages that go by what is known of their list: true at any moment, and shared by one turn."""

import asyncio
import sqlite3
from threading import Thread

import msgspec
import pytest

from domain.kinds.registry import KINDS
from projections.entities.list_pages import small_page
from projections.entities.port import ListRequest
from projections.generations.port import ChangeCounter
from tests.projections.conftest import Fixture

SERVICES = ListRequest(kind=KINDS["databaseService"], limit=10)


class Counted:
    """A catalog whose changes are counted, and whose pages go by their number."""

    def __init__(self, catalog: Fixture) -> None:
        self.catalog = catalog
        self.changes = ChangeCounter()
        self.model = catalog.entities
        self.model.remember(self.changes.number)
        self.statements: list[str] = []

    def create(self, *names: str) -> None:
        for name in names:
            self.catalog.create("databaseService", name, serviceType="Mysql")
        with self.changes.changing():
            self.catalog.project()

    def page(self, request: ListRequest = SERVICES) -> tuple[int, list[str]]:
        """The total of a list, and the names on its page."""
        page = msgspec.json.decode(small_page(self.model, request) or b"")
        return page["paging"]["total"], [each["name"] for each in page["data"]]

    def trace(self, connection: sqlite3.Connection) -> None:
        """Note the statements of a connection from now on."""
        self.statements.clear()
        connection.set_trace_callback(self.statements.append)

    def turn(self) -> sqlite3.Connection:
        """The connection of this loop's turns."""
        turn = self.model.database.turn
        assert turn is not None
        return turn.connection


@pytest.fixture
def counted(catalog: Fixture) -> Counted:
    counted = Counted(catalog)
    counted.create("a", "b", "c")
    return counted


def test_pages_of_one_turn_share_a_transaction(counted: Counted) -> None:
    async def turn() -> None:
        counted.page()
        await asyncio.sleep(0)
        counted.trace(counted.turn())
        for _ in range(3):
            assert counted.page() == (3, ["a", "b", "c"])
        opening, version, *pages = counted.statements
        assert [opening, version] == ["BEGIN", "PRAGMA data_version"]
        assert len(pages) == 3
        assert all("FROM entities" in statement for statement in pages)
        assert counted.turn().in_transaction

        await asyncio.sleep(0)

        assert not counted.turn().in_transaction
        assert counted.statements[5:] == ["ROLLBACK"]

    asyncio.run(turn())


def test_page_shows_a_commit_of_the_same_turn(counted: Counted) -> None:
    async def turn() -> None:
        for names in (["d"], ["e", "f"]):
            _, before = counted.page()
            assert counted.page()[1] == before

            thread = Thread(target=counted.create, args=names)
            thread.start()
            thread.join()

            assert counted.page() == (len(before + names), before + names)
            assert counted.page() == (len(before + names), before + names)

    asyncio.run(turn())


def test_page_beside_a_change_that_is_not_counted_yet_is_of_one_state(counted: Counted) -> None:
    async def turn() -> None:
        counted.page()
        counted.page()
        counted.catalog.create("databaseService", "d", serviceType="Mysql")
        with counted.changes.changing():
            assert counted.page() == (3, ["a", "b", "c"])
            counted.catalog.project()
            # Whoever reads now may see either, but never rows of one and the total of the other.
            assert counted.page() == (4, ["a", "b", "c", "d"])
        assert counted.page() == (4, ["a", "b", "c", "d"])

    asyncio.run(turn())


def test_page_is_of_one_state_whatever_is_committed_meanwhile(counted: Counted) -> None:
    async def turn() -> None:
        counted.page()
        await asyncio.sleep(0)
        connection = counted.turn()

        def commit(statement: str) -> None:
            if "FROM entities" in statement:
                connection.set_trace_callback(None)
                thread = Thread(target=counted.create, args=("d",))
                thread.start()
                thread.join()

        connection.set_trace_callback(commit)
        assert counted.page() == (3, ["a", "b", "c"])
        assert counted.page() == (4, ["a", "b", "c", "d"])

    asyncio.run(turn())


def test_turn_does_not_keep_the_write_ahead_log(counted: Counted) -> None:
    async def turn() -> None:
        counted.page()
        counted.page()
        await asyncio.sleep(0)
        counted.create("d")
        settle = counted.model.database.connect().execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert settle.fetchone() == (0, 0, 0)

    asyncio.run(turn())


def test_model_may_be_closed_within_a_turn(counted: Counted) -> None:
    errors: list[object] = []

    async def turn() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, told: errors.append(told))
        counted.page()
        counted.page()
        counted.model.close()
        await asyncio.sleep(0)

    asyncio.run(turn())

    assert errors == []


def test_each_loop_has_turns_of_its_own(counted: Counted) -> None:
    async def turn() -> sqlite3.Connection:
        counted.page()
        return counted.turn()

    assert asyncio.run(turn()) is not asyncio.run(turn())
    assert counted.model.database.turn is None
    assert counted.page() == (3, ["a", "b", "c"])


def test_ends_of_many_lists_are_forgotten(counted: Counted) -> None:
    async def turn() -> None:
        counted.page()
        for number in range(300):
            owner = {"owner": f"o{number}"}
            other = ListRequest(kind=KINDS["databaseService"], limit=1, filters=owner)
            assert counted.page(other) == (0, [])
        counted.trace(counted.turn())

        assert counted.page() == (3, ["a", "b", "c"])

        assert len(counted.statements) > 1

    asyncio.run(turn())


def test_pages_of_uncounted_changes_share_no_transaction(catalog: Fixture) -> None:
    async def turn() -> None:
        uncounted.page()
        uncounted.trace(uncounted.turn())
        for _ in range(2):
            assert uncounted.page() == (1, ["a"])
        assert len(uncounted.statements) == 8
        catalog.create("databaseService", "b", serviceType="Mysql")
        catalog.project()
        assert uncounted.page() == (2, ["a", "b"])

    uncounted = Counted(catalog)
    uncounted.model.remember(lambda: None)
    uncounted.create("a")
    asyncio.run(turn())
