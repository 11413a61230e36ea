"""Errors of readers and writers of lists in PostgreSQL when the database does not do its part."""

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, closing
from functools import partial
from typing import Any

import msgspec
import pytest

from benchmarks.postgres_server import PostgresServer
from domain.errors import StoreUnavailable
from domain.event_store.postgres.link import Link
from domain.kinds.registry import KINDS
from projections.entities.cursors import Place, encode
from projections.entities.list_pages import list_page, long_page, small_page
from projections.entities.list_port import ListRequest
from projections.entities.name_filters import name_filter
from projections.entities.postgres.database import MOST_KEPT, READERS, EntityDatabase
from projections.entities.postgres.model import PostgresReadModel
from projections.entities.postgres.opening import open_read_model
from projections.feeding.port import Damaged, Superseded
from tests.commits import change
from tests.contracts.plain_read_model import PlainReadModel
from tests.contracts.test_sorted_read_model import fill, stored, uuid
from tests.postgres_models import postgres_model

TABLES = ListRequest(kind=KINDS["table"], limit=2)


@pytest.fixture
def database(postgres: PostgresServer) -> Iterator[EntityDatabase]:
    with closing(EntityDatabase(postgres.url("catalog"))) as database:
        yield database


@pytest.fixture
def model(postgres: PostgresServer, database: EntityDatabase) -> Iterator[PostgresReadModel]:
    with postgres_model(postgres, database) as model:
        fill(model, *(stored(n, name) for n, name in enumerate("abc")))
        yield model


@pytest.fixture
def impatient(database: EntityDatabase) -> None:
    database.connections.wait_seconds = database.readers.wait_seconds = 0.1


def cut(postgres: PostgresServer) -> None:
    """Ends all connections but this one."""
    postgres.run(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'postgres'"
        " AND pid <> pg_backend_pid()"
    )


def test_page_is_read_again_when_its_connection_was_cut(
    postgres: PostgresServer, model: PostgresReadModel
) -> None:
    page = small_page(model, TABLES)
    cut(postgres)
    assert small_page(model, TABLES) == page


@pytest.fixture
def hasty(postgres: PostgresServer) -> Iterator[EntityDatabase]:
    """Gives a server up soon that hangs, and asks again for as long as another answers late."""
    with closing(EntityDatabase(postgres.url("catalog"), grace_seconds=0.2 - 10)) as database:
        for connections in (database.connections, database.readers):
            connections.check_seconds = connections.read_seconds = 0.2
            connections.wait_seconds = 300.0
        yield database


def hang(postgres: PostgresServer) -> list[int]:
    """Stops the processes behind all connections but this one, which stay open."""
    with postgres.connect() as connection:
        rows = connection.execute(
            "SELECT pid FROM pg_stat_activity"
            " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        ).fetchall()
    for (pid,) in rows:
        os.kill(pid, signal.SIGSTOP)
    return [pid for (pid,) in rows]


def test_page_is_read_by_another_connection_where_one_hangs(
    postgres: PostgresServer, hasty: EntityDatabase, model: PostgresReadModel
) -> None:
    other = open_read_model(hasty, model.tables.schema.strip('"'))
    page = small_page(other, TABLES)
    hung = hang(postgres)
    try:
        assert hung
        assert small_page(other, TABLES) == page
    finally:
        for pid in hung:
            os.kill(pid, signal.SIGCONT)


def test_page_whose_transaction_was_cut_is_refused(
    postgres: PostgresServer, model: PostgresReadModel
) -> None:
    chunks = long_page(model, TABLES)
    assert next(chunks).startswith(b'{"data":[')
    cut(postgres)
    with pytest.raises(StoreUnavailable, match="the sorted read model cannot be used now"):
        b"".join(chunks)


def test_commit_whose_connection_was_cut_changes_nothing(
    postgres: PostgresServer, model: PostgresReadModel
) -> None:
    before = model.digests()
    cut(postgres)
    with pytest.raises(StoreUnavailable, match="the sorted read model cannot be used now"):
        fill(model, stored(9, "z"), position=2)
    assert (model.checkpoint(), model.digests()) == (1, before)


@pytest.mark.usefixtures("impatient")
def test_readers_are_told_that_all_connections_are_in_use(model: PostgresReadModel) -> None:
    with ExitStack() as stack:
        for _ in range(READERS):
            stack.enter_context(model.edges())
        with pytest.raises(StoreUnavailable, match=f"all {READERS} connections are in"):
            small_page(model, TABLES)
    assert small_page(model, TABLES) is not None


def test_connection_that_is_in_use_when_the_database_closes_is_closed_after_it(
    postgres: PostgresServer,
) -> None:
    database = EntityDatabase(postgres.url("catalog"))
    links = [database.readers.take() for _ in range(2)]
    database.readers.give_back(links[0])
    database.close()
    assert [link.closed for link in links] == [True, False]

    database.readers.give_back(links[1])
    assert links[1].closed


@pytest.mark.usefixtures("impatient")
def test_large_pages_wait_for_none_but_each_other(model: PostgresReadModel) -> None:
    large_page = partial(long_page, model, TABLES)
    with ExitStack() as stack:
        pages = []
        for _ in range(MOST_KEPT):
            pages.append(stack.enter_context(closing(large_page())))
            next(pages[-1])
        with pytest.raises(StoreUnavailable, match="16 large pages are being sent already"):
            next(large_page())
        assert model.checkpoint() == 1
        whole = [b"".join(page) for page in pages]
    assert whole == whole[:1] * MOST_KEPT
    assert next(large_page())


def test_statement_that_takes_too_long_is_refused(
    postgres: PostgresServer, model: PostgresReadModel
) -> None:
    with closing(EntityDatabase(postgres.url("catalog"), most_seconds=0.1)) as hasty:
        other = open_read_model(hasty, model.tables.schema.strip('"'))
        page = small_page(other, TABLES)
        with postgres.connect() as link, link.transaction():
            link.execute(model.tables.within("LOCK TABLE {}.entities").encode())
            with pytest.raises(StoreUnavailable, match="statement timeout"):
                small_page(other, TABLES)
        assert small_page(other, TABLES) == page


@pytest.mark.parametrize("is_live", ["SELECT false", "SELECT NULL::bool", "SELECT true LIMIT 0"])
def test_generation_that_is_not_live_any_more_says_so(
    postgres: PostgresServer, model: PostgresReadModel, is_live: str
) -> None:
    with closing(EntityDatabase(postgres.url("catalog"))) as other:
        left = open_read_model(other, model.tables.schema.strip('"'), is_live=is_live)
        with pytest.raises(Superseded):
            small_page(left, TABLES)
        with pytest.raises(Superseded):
            left.document("table", entity_id=uuid(1))
        for ids in ([uuid(1)], [uuid(9)]):
            with pytest.raises(Superseded):
                left.documents(ids)
        with pytest.raises(Superseded), left.edges():
            pass
        assert left.checkpoint() == 1
        with pytest.raises(StoreUnavailable, match="opened to be read"):
            fill(left, stored(9, "z"), position=2)


@pytest.mark.parametrize(
    "narrowed",
    [
        {"status": "Draft", "filters": {"databaseSchema": "s"}},
        {"filters": {"database": "d", "databaseSchema": "s"}},
        {"names": name_filter(KINDS["table"], {"tableRegex": "."})},
        {"names": name_filter(KINDS["table"], {"tableRegex": "."}), "limit": 0},
    ],
    ids=["status", "two filters", "pattern", "total of a pattern"],
)
def test_list_that_no_index_finds_says_that_its_generation_is_not_live(
    postgres: PostgresServer, model: PostgresReadModel, narrowed: dict[str, Any]
) -> None:
    request = msgspec.structs.replace(TABLES, **narrowed)
    assert small_page(model, request) is not None
    with closing(EntityDatabase(postgres.url("catalog"))) as other:
        left = open_read_model(other, model.tables.schema.strip('"'), is_live="SELECT false")
        with pytest.raises(Superseded):
            small_page(left, request)
        with pytest.raises(Superseded):
            next(long_page(left, request))


def test_page_that_is_read_again_as_it_is_large_is_of_a_live_generation(
    postgres: PostgresServer, model: PostgresReadModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is live when the beginning is read, and not any more when all of it is."""
    schema = model.tables.schema
    live = f"{schema}.live"
    postgres.run(f"CREATE TABLE {live} AS SELECT true AS yes")
    with closing(EntityDatabase(postgres.url("catalog"))) as other:
        left = open_read_model(other, schema.strip('"'), is_live=f"SELECT yes FROM {live}")
        begin = left.tables.begin

        def leave_and_begin(*, own: bool) -> Link:
            postgres.run(f"UPDATE {live} SET yes = false")
            return begin(own=own)

        monkeypatch.setattr(left.tables, "begin", leave_and_begin)
        chunks = list_page(left, TABLES, most_bytes=1)
        assert next(chunks) == b""
        with pytest.raises(Superseded):
            next(chunks)


def test_texts_that_the_database_does_not_take_are_found_nowhere(model: PostgresReadModel) -> None:
    assert model.document("table", entity_id="a\0") is None
    assert model.document("table", fqn="a\0") is None
    assert model.documents(["a\0", uuid(1)]).keys() == {uuid(1)}
    for narrowed in ({"status": "a\0"}, {"filters": {"databaseSchema": "a\0"}}):
        page = small_page(model, msgspec.structs.replace(TABLES, **narrowed))
        assert page == b'{"data":[],"paging":{"total":0}}'


@pytest.mark.parametrize("name", ["b\0", "b\0c", "\0"])
@pytest.mark.parametrize("backward", [False, True])
def test_cursor_with_a_name_that_no_entity_has_is_a_place_all_the_same(
    model: PostgresReadModel, name: str, backward: bool
) -> None:
    """Whoever makes up a cursor may put anything in it."""
    plain = PlainReadModel()
    fill(plain, *(stored(n, each) for n, each in enumerate("abc")))
    made_up = encode(Place(name, uuid(1)), TABLES.identity, backward=backward).decode()
    cursor = {"before" if backward else "after": made_up}
    request = msgspec.structs.replace(TABLES, **cursor)
    assert small_page(model, request) == small_page(plain, request)


def test_tables_that_are_gone_are_told_to_readers_and_to_the_writer(
    postgres: PostgresServer, model: PostgresReadModel
) -> None:
    tables = ("entities", "scopes", "counters", "digests", "checkpoint")
    postgres.run(*(model.tables.within(f"DROP TABLE {{}}.{table}") for table in tables))
    with pytest.raises(Superseded, match="are gone"):
        small_page(model, TABLES)
    with pytest.raises(Damaged, match="are gone"):
        model.apply({uuid(9): change(stored(9, "z"), 2)}, 2, "at 2", after=(1, "at 1"))
