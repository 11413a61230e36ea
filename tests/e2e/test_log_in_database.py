"""Hosts that share a log in PostgreSQL: real processes, each with a data directory of its own."""

from contextlib import closing
from pathlib import Path

import pytest

from benchmarks.postgres_server import PostgresServer, new_schema
from domain.event_store.opening import open_event_log
from domain.events import EntityCreated
from tests.e2e import forked
from tests.e2e.conftest import catalog, replay, serving
from tests.waiting import until

SECRET = "a secret of more than thirty-two bytes"
SERVICE = '{"entityType":"databaseService","name":"imported","serviceType":"Mysql"}'
SERVICES = "/v1/services/databaseServices"


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    """An address with a password, which nobody but the processes should see."""
    return postgres.url(new_schema(), password="s3cret")


def names(pages: object) -> list[str]:
    assert isinstance(pages, dict)
    return [each["name"] for each in pages["data"]]


def test_hosts_share_the_log_and_nobody_sees_the_password(tmp_path: Path, url: str) -> None:
    known = {"CATALOG_DATABASE_URL": url, "CATALOG_JWT_SECRET": SECRET}
    file = tmp_path / "lines.jsonl"
    file.write_text(SERVICE)
    one, two = tmp_path / "one", tmp_path / "two"
    done = catalog("import", str(file), "--data", str(one), **known)
    assert (done.returncode, done.stdout[:18]) == (0, "1 lines: 1 created"), done.stderr

    with (
        (tmp_path / "log").open("w") as log,
        serving(one, log=log, **known) as first,
        serving(two, "--workers", "2", log=log, interpreters=True, **known) as second,
    ):
        first.post(SERVICES, name="first", serviceType="Mysql")
        assert names(first.get(SERVICES)) == ["first", "imported"]
        # Hosts of a log that has events already add nothing of their own to it.
        assert names(first.get("/v1/classifications")) == []
        second.post(SERVICES, name="second", serviceType="Mysql")
        assert names(second.get(SERVICES)) == ["first", "imported", "second"]
        until(lambda: names(first.get(SERVICES)) == ["first", "imported", "second"])
        # A worker does not project, and learns of what its host has applied by looking.
        for number, (writer, reader) in enumerate([(first, second), (second, first)] * 2):
            body = {"name": f"z{number}", "serviceType": "Mysql"}
            written = writer.http.post(SERVICES, json=body)
            at = {"X-Catalog-Position": written.headers["X-Catalog-Position"]}
            assert names(reader.http.get(SERVICES, headers=at).json())[-1] == f"z{number}"
            hits = reader.http.get(f"/v1/search/query?q=z{number}", headers=at).json()["hits"]
            assert [hit["_source"]["name"] for hit in hits["hits"]] == [f"z{number}"]
        children = Path(f"/proc/{second.process.pid}/task/{second.process.pid}/children")
        processes = [*children.read_text().split(), str(second.process.pid)]
        assert len(processes) == 4
        seen = [Path(f"/proc/{each}/cmdline").read_bytes() for each in processes]
        assert not any(b"s3cret" in each for each in seen)
    assert "s3cret" not in (tmp_path / "log").read_text()
    assert replay("inspect", "--data", str(one)).returncode == 2


def test_hosts_that_start_at_once_make_a_new_catalog_once(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    url = postgres.url(new_schema())
    known = {"CATALOG_DATABASE_URL": url, "CATALOG_JWT_SECRET": SECRET}
    with (tmp_path / "log").open("w") as log:
        servers = [forked.serve(tmp_path / name, err=log, **known) for name in ("one", "two")]
        try:
            for server in servers:
                assert server.stdout is not None
                with server.stdout:
                    assert server.stdout.readline().startswith("catalog listens on")
        finally:
            for server in servers:
                server.terminate()
            assert [server.wait(30) for server in servers] == [0, 0]
    with closing(open_event_log(url)) as events:
        made = [each.event for each in events.read(0, 1_000)]
    created = [each.fqn for each in made if isinstance(each, EntityCreated)]
    assert {"Tier", "PII"} < set(created)
    assert len(created) == len(set(created)) == len(made)


def test_password_on_the_command_line_is_refused(tmp_path: Path, url: str) -> None:
    done = catalog("serve", "--data", str(tmp_path / "data"), "--database", url)
    assert done.returncode == 2
    assert "others can read a password there" in done.stderr
    assert "s3cret" not in done.stderr
    assert not (tmp_path / "data").exists()
