"""Pages that share a state of the file, within an iteration of the event loop or for longer."""

import asyncio
import sqlite3
from threading import Thread

import msgspec
import pytest

from domain.kinds.registry import KINDS
from projections.entities.list_pages import small_page
from projections.entities.list_port import ListRequest
from projections.generations.port import ChangeCounter
from tests.projections.conftest import Fixture

SERVICES = ListRequest(kind=KINDS["databaseService"], limit=10)
DATABASES = ListRequest(kind=KINDS["database"], limit=10)
NEVER, ALWAYS = 1, 2**60
"""Numbers of slices of time, so that no state is held for longer than an iteration, or each is."""


class Counted:
    """A catalog whose changes are counted, and whose pages go by their number."""

    def __init__(self, catalog: Fixture) -> None:
        self.catalog = catalog
        self.changes = ChangeCounter()
        self.model = catalog.entities
        self.model.share_states(self.changes.number)
        self.statements: list[str] = []

    def create(self, *names: str) -> None:
        for name in names:
            self.catalog.create("databaseService", name, serviceType="Mysql")
        with self.changes.changing({"databaseService"}):
            self.catalog.project()

    def create_database(self, name: str, service: str) -> None:
        self.catalog.create("database", name, service=service)
        with self.changes.changing({"database"}):
            self.catalog.project()

    def hold(self, slices: int) -> None:
        """Have the pages of this loop share states by slices of time."""
        state = self.model.database.loop_state
        assert state is not None
        state.slices = slices
        # Half of a slice is left then, more than any test takes.
        state.slice_seconds = state.loop.time() / 1.5

    def page(self, request: ListRequest = SERVICES) -> tuple[int, list[str]]:
        """The total of a list, and the names on its page."""
        page = msgspec.json.decode(small_page(self.model, request) or b"")
        return page["paging"]["total"], [each["name"] for each in page["data"]]

    def trace(self, connection: sqlite3.Connection) -> None:
        """Note the statements of a connection from now on."""
        self.statements.clear()
        connection.set_trace_callback(self.statements.append)

    def connection(self) -> sqlite3.Connection:
        """The connection whose state the pages of this loop share."""
        state = self.model.database.loop_state
        assert state is not None
        return state.connection


@pytest.fixture
def counted(catalog: Fixture) -> Counted:
    counted = Counted(catalog)
    counted.create("a", "b", "c")
    return counted


def test_pages_of_one_iteration_share_a_transaction(counted: Counted) -> None:
    async def iteration() -> None:
        counted.hold(NEVER)
        counted.page()
        await asyncio.sleep(0)
        counted.trace(counted.connection())
        for _ in range(3):
            assert counted.page() == (3, ["a", "b", "c"])
        opening, version, *pages = counted.statements
        assert [opening, version] == ["BEGIN", "PRAGMA data_version"]
        assert len(pages) == 3
        assert all("FROM entities" in statement for statement in pages)
        assert counted.connection().in_transaction

        await asyncio.sleep(0)

        assert not counted.connection().in_transaction
        assert counted.statements[5:] == ["ROLLBACK"]

    asyncio.run(iteration())


def test_page_shows_a_commit_of_the_same_iteration(counted: Counted) -> None:
    async def iteration() -> None:
        for names in (["d"], ["e", "f"]):
            _, before = counted.page()
            assert counted.page()[1] == before

            thread = Thread(target=counted.create, args=names)
            thread.start()
            thread.join()

            assert counted.page() == (len(before + names), before + names)
            assert counted.page() == (len(before + names), before + names)

    asyncio.run(iteration())


def test_page_beside_a_change_that_is_not_counted_yet_is_of_one_state(counted: Counted) -> None:
    async def iteration() -> None:
        counted.page()
        counted.page()
        counted.catalog.create("databaseService", "d", serviceType="Mysql")
        with counted.changes.changing():
            assert counted.page() == (3, ["a", "b", "c"])
            counted.catalog.project()
            # Whoever reads now may see either, but never rows of one and the total of the other.
            assert counted.page() == (4, ["a", "b", "c", "d"])
        assert counted.page() == (4, ["a", "b", "c", "d"])

    asyncio.run(iteration())


def test_page_is_of_one_state_whatever_is_committed_meanwhile(counted: Counted) -> None:
    async def iteration() -> None:
        counted.page()
        await asyncio.sleep(0)
        connection = counted.connection()

        def commit(statement: str) -> None:
            if "FROM entities" in statement:
                connection.set_trace_callback(None)
                thread = Thread(target=counted.create, args=("d",))
                thread.start()
                thread.join()

        connection.set_trace_callback(commit)
        assert counted.page() == (3, ["a", "b", "c"])
        assert counted.page() == (4, ["a", "b", "c", "d"])

    asyncio.run(iteration())


def test_shared_state_does_not_keep_the_write_ahead_log(counted: Counted) -> None:
    async def iteration() -> None:
        counted.hold(NEVER)
        counted.page()
        counted.page()
        await asyncio.sleep(0)
        counted.create("d")
        settle = counted.model.database.connect().execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert settle.fetchone() == (0, 0, 0)

    asyncio.run(iteration())


def test_state_is_held_until_what_is_listed_changes(counted: Counted) -> None:
    async def iterations() -> None:
        counted.hold(ALWAYS)
        counted.page()
        await asyncio.sleep(0)
        counted.create_database("x", "a")
        counted.trace(counted.connection())
        assert counted.page() == (3, ["a", "b", "c"])
        assert all("FROM entities" in statement for statement in counted.statements)

        # A page that needs a newer state has one, which the others share.
        assert counted.page(DATABASES) == (1, ["x"])
        counted.trace(counted.connection())
        assert counted.page() == (3, ["a", "b", "c"])
        counted.create("d")
        assert counted.page() == (4, ["a", "b", "c", "d"])
        assert counted.statements.count("BEGIN") == 1

    asyncio.run(iterations())


def test_filtered_page_shows_all_changes(counted: Counted) -> None:
    """What a filter names may be of any kind."""

    async def iterations() -> None:
        counted.hold(ALWAYS)
        named = msgspec.structs.replace(DATABASES, filters={"service": "d"})
        assert counted.page(named) == (0, [])
        counted.create("d")
        counted.trace(counted.connection())
        assert counted.page(named) == (0, [])
        assert counted.statements[:2] == ["ROLLBACK", "BEGIN"]

    asyncio.run(iterations())


def test_held_state_ends_with_its_slice_of_time(counted: Counted) -> None:
    async def iterations() -> None:
        counted.hold(ALWAYS)
        state = counted.model.database.loop_state
        assert state is not None
        state.slice_seconds = 0.05
        counted.page()
        assert counted.connection().in_transaction
        async with asyncio.timeout(60):
            while counted.connection().in_transaction:
                await asyncio.sleep(0)

    asyncio.run(iterations())


def test_model_may_be_closed_within_an_iteration(counted: Counted) -> None:
    errors: list[object] = []

    async def iteration() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, told: errors.append(told))
        counted.page()
        counted.page()
        counted.model.close()
        await asyncio.sleep(0)

    asyncio.run(iteration())

    assert errors == []


def test_each_loop_has_a_state_of_its_own(counted: Counted) -> None:
    async def iteration() -> sqlite3.Connection:
        counted.page()
        return counted.connection()

    assert asyncio.run(iteration()) is not asyncio.run(iteration())
    assert counted.model.database.loop_state is None
    assert counted.page() == (3, ["a", "b", "c"])


def test_ends_of_many_lists_are_forgotten(counted: Counted) -> None:
    async def iteration() -> None:
        counted.page()
        for number in range(300):
            owner = {"owner": f"o{number}"}
            other = ListRequest(kind=KINDS["databaseService"], limit=1, filters=owner)
            assert counted.page(other) == (0, [])
        counted.trace(counted.connection())

        assert counted.page() == (3, ["a", "b", "c"])

        assert len(counted.statements) > 1

    asyncio.run(iteration())


def test_pages_of_uncounted_changes_share_no_transaction(catalog: Fixture) -> None:
    async def iteration() -> None:
        uncounted.page()
        uncounted.trace(uncounted.connection())
        for _ in range(2):
            assert uncounted.page() == (1, ["a"])
        assert len(uncounted.statements) == 8
        catalog.create("databaseService", "b", serviceType="Mysql")
        catalog.project()
        assert uncounted.page() == (2, ["a", "b"])

    uncounted = Counted(catalog)
    uncounted.model.share_states(lambda kind: None)
    uncounted.create("a")
    asyncio.run(iteration())
