"""A server that runs while a later release writes to its log stores nothing more, and says why."""

import os
from contextlib import closing
from pathlib import Path

import pytest

from benchmarks.postgres_server import PostgresServer, new_schema
from domain.event_store.opening import open_event_log
from domain.release import RELEASE
from projections.wiring.stores import open_log
from tests.api.conftest import Client, running
from tests.contracts.test_event_store_features import name_a_later_feature
from tests.e2e import forked

SERVICES = "/v1/services/databaseServices"
SENTENCE = (
    f"the log uses event:entity.merged, which this release ({RELEASE}) does not know:"
    " release 0.11.0 knows it"
)


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest) -> str | None:
    if request.param == "sqlite":
        return None
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.url(new_schema())


def put(client: Client, name: str) -> tuple[int, str]:
    response = client.request("PUT", SERVICES, json={"name": name, "serviceType": "Mysql"})
    return response.status_code, response.json().get("message", "")


def test_running_server_stores_nothing_more_and_says_which_release_it_needs(
    tmp_path: Path, database: str | None
) -> None:
    with running(tmp_path, database_url=database) as client:
        assert put(client, "before")[0] == 201
        address = database or str(tmp_path / "events.db")
        with closing(open_event_log(address)) as later:
            name_a_later_feature(later)
            assert put(client, "after") == (503, SENTENCE)
            assert later.head() == 1
        ready = client.http.get("/readyz")
        assert (ready.status_code, ready.json()["problems"]) == (503, [SENTENCE])
        said = client.get("/v1/system/projections")
        assert (said["laterRelease"], said["logError"], said["head"]) == (SENTENCE, SENTENCE, 1)
        # What it can read, it still reads.
        assert client.get(f"{SERVICES}/name/before")["name"] == "before"
        assert client.request("GET", f"{SERVICES}/name/after").status_code == 404


def test_server_does_not_start_over_a_log_of_a_later_release(
    tmp_path: Path, database: str | None
) -> None:
    with closing(open_log(tmp_path, database)) as log:
        name_a_later_feature(log)
    named = ["--database", database] if database else []
    for command in ("serve --port=0", "serve --port=0 --workers=2", "import -"):
        arguments = [*command.split(), "--data", str(tmp_path), *named]
        done = forked.run("api.commands", arguments, os.environ, timeout=60)
        said = [line for line in done.stderr.splitlines() if not line.startswith("tokens: ")]
        assert (done.returncode, said) == (2, [f"error: {SENTENCE}"])
