"""Read models of a host whose log is in PostgreSQL: fed from it, and never ahead of it."""

from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from benchmarks.postgres_server import PostgresServer, new_schema
from domain.errors import Conflict, InvalidInput
from domain.event_store.opening import open_event_log
from domain.event_store.transfer import ExportReader, export
from projections.feeding.daemon import Daemon
from projections.operation.inspection import inspect
from projections.wiring.stores import open_log, open_stores
from tests.postgres_copies import Copies
from tests.projections.read_models import (
    create,
    found,
    generations,
    listed,
    opened,
    step,
    step_until,
)
from tests.waiting import until


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    return postgres.url(new_schema())


def test_each_host_builds_its_own_read_models(url: str, tmp_path: Path) -> None:
    with opened(tmp_path / "one", url) as one, opened(tmp_path / "two", url) as two:
        create(one, "first")
        create(two, "second")
        step(one)
        step(two)
        assert listed(one) == listed(two)
        assert found(one) == found(two)
        assert b"first" in listed(one)
        assert len(found(one)) == 2


def test_import_into_another_schema_is_another_log_to_inspection(
    url: str, postgres: PostgresServer, tmp_path: Path
) -> None:
    imported = postgres.url(new_schema())
    with opened(tmp_path / "data", url) as stores:
        create(stores, "a")
        step(stores)
        first = inspect(stores, details=True)
        with stores.log.snapshot() as snapshot:
            lines = [*export(stores.log, snapshot)]
    with closing(open_event_log(imported)) as log:
        assert [*log.restore(ExportReader(lines, "export").rows())] == [1]
    with closing(open_stores(tmp_path / "data", imported, writable=False)) as stores:
        second = inspect(stores, details=True)
        assert (first.log_id, second.log_id) == (
            msgspec.json.decode(lines[0])["logId"],
            stores.log.identity(),
        )
        assert (first.head, second.head) == (1, 1)
    assert first.log_id != second.log_id
    assert [(each.name, each.state, each.checkpoint) for each in second.projections] == [
        ("entities", "unavailable", 0),
        ("search", "unavailable", 0),
    ]
    assert "built from another log" in str(second.projections[1].error)


def test_log_older_than_the_read_models_is_noticed_while_they_are_open(
    url: str, postgres: PostgresServer, copies: Copies, tmp_path: Path
) -> None:
    with opened(tmp_path / "data", url) as stores:
        create(stores, "kept")
        step(stores)
        copies.keep("older")
        create(stores, "lost")
        # The server was away: who leads may learn it by a step that fails.
        step_until(stores, lambda: b"lost" in listed(stores))
        assert generations(stores) == [1, 1]

        copies.put_back("older")
        # Where the lost event was, there is another one now.
        create(stores, "other")
        step_until(stores, lambda: b"other" in listed(stores))

        assert b"lost" not in listed(stores)
        assert b"kept" in listed(stores)
        assert len(found(stores)) == 2
        # The lists went back with the log, and only the search had to be built anew.
        assert generations(stores) == [1, 2]


def test_log_that_ends_before_the_read_models_is_noticed_without_a_new_event(
    url: str, postgres: PostgresServer, copies: Copies, tmp_path: Path
) -> None:
    with opened(tmp_path / "data", url) as stores:
        create(stores, "kept")
        copies.keep("older")
        create(stores, "lost")
        step_until(stores, lambda: len(found(stores)) == 2)
        copies.put_back("older")
        step_until(stores, lambda: len(found(stores)) == 1)

        assert b"lost" not in listed(stores)


def test_directory_has_one_log(url: str, tmp_path: Path) -> None:
    open_log(tmp_path / "database", url).close()
    with pytest.raises(Conflict, match="is in a database: name it with CATALOG_DATABASE_URL"):
        open_log(tmp_path / "database")
    open_log(tmp_path / "file").close()
    with pytest.raises(Conflict, match=r"has a log of its own, events\.db"):
        open_log(tmp_path / "file", url)
    with pytest.raises(InvalidInput, match="must be a URL like postgresql://host/name"):
        open_log(tmp_path / "new", "mysql://host/name")


def test_announcements_wake_the_projectors_of_other_hosts(url: str, tmp_path: Path) -> None:
    with opened(tmp_path / "one", url) as one, opened(tmp_path / "two", url) as two:
        # The first of them leads, so it feeds the lists of both.
        projecting = Daemon(
            one.supervisors, one.directory, poll_seconds=600.0, announced_seconds=600.0, log=one.log
        )
        projecting.start()
        try:
            for name in ("first", "second"):
                create(two, name)
                until(lambda name=name: name.encode() in listed(two))
            until(lambda: len(found(one)) == 2)
        finally:
            projecting.stop()
