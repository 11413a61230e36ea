"""Hosts that share a log in PostgreSQL: real processes, each with a data directory of its own."""

from pathlib import Path

import pytest

from benchmarks.postgres_server import PostgresServer, new_schema
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
        serving(two, "--workers", "2", log=log, **known) as second,
    ):
        first.post(SERVICES, name="first", serviceType="Mysql")
        assert names(first.get(SERVICES)) == ["first", "imported"]
        # Hosts of a log that has events already add nothing of their own to it.
        assert names(first.get("/v1/classifications")) == []
        second.post(SERVICES, name="second", serviceType="Mysql")
        assert names(second.get(SERVICES)) == ["first", "imported", "second"]
        until(lambda: names(first.get(SERVICES)) == ["first", "imported", "second"])
        children = Path(f"/proc/{second.process.pid}/task/{second.process.pid}/children")
        processes = [*children.read_text().split(), str(second.process.pid)]
        assert len(processes) == 4
        seen = [Path(f"/proc/{each}/cmdline").read_bytes() for each in processes]
        assert not any(b"s3cret" in each for each in seen)
    assert "s3cret" not in (tmp_path / "log").read_text()
    assert replay("inspect", "--data", str(one)).returncode == 2


def test_password_on_the_command_line_is_refused(tmp_path: Path, url: str) -> None:
    done = catalog("serve", "--data", str(tmp_path / "data"), "--database", url)
    assert done.returncode == 2
    assert "others can read a password there" in done.stderr
    assert "s3cret" not in done.stderr
    assert not (tmp_path / "data").exists()
