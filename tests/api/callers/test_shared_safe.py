"""Two hosts over one database, with data directories of their own: a browser may meet either."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from api.callers.tokens.safe import REGISTER, SECRET, SESSION_KEY
from api.callers.tokens.secret import key_id
from api.callers.tokens.verifier import open_verifier
from api.commands import main
from api.settings import Settings
from benchmarks.postgres_server import PostgresServer, new_schema
from domain.errors import StoreUnavailable
from domain.event_store.opening import migrate_log
from domain.event_store.postgres import schema
from tests.api.conftest import Client, running
from tests.api.pages.conftest import Browser
from tests.postgres_logs import release_with
from tests.waiting import until


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    return postgres.url(new_schema())


@contextmanager
def host(directory: Path, url: str) -> Iterator[Client]:
    """A host with nothing but the database; the catalog signs its tokens itself."""
    directory.mkdir(exist_ok=True)
    with running(directory, database_url=url, jwt_secret=None) as client:
        yield client


@pytest.fixture
def hosts(tmp_path: Path, url: str) -> Iterator[tuple[Client, Client]]:
    with host(tmp_path / "one", url) as one, host(tmp_path / "two", url) as two:
        yield one, two


def catalog(client: Client, url: str, *arguments: str) -> Result:
    """Run a command on a host."""
    environment = {"CATALOG_DATA": str(client.directory), "CATALOG_DATABASE_URL": url}
    done = CliRunner().invoke(main, arguments, env=environment)
    assert done.exit_code == 0, done.output
    return done


def status(client: Client, token: str) -> int:
    answer: int = client.http.get(
        "/v1/tables", headers={"Authorization": f"Bearer {token}"}
    ).status_code
    return answer


def test_a_token_made_on_one_host_is_good_on_the_other(
    hosts: tuple[Client, Client], url: str
) -> None:
    one, two = hosts
    made = catalog(one, url, "token", "--subject=ann", "--role=reader").stdout.strip()

    assert [status(one, made), status(two, made)] == [200, 200]


def test_a_token_revoked_on_one_host_is_refused_on_the_other(
    hosts: tuple[Client, Client], url: str
) -> None:
    one, two = hosts
    made = catalog(one, url, "token", "--subject=bot", "--role=bot", "--expires=30d")
    signed, token_id = made.stdout.strip(), made.stderr.split()[2].rstrip(",")
    until(lambda: [status(one, signed), status(two, signed)] == [200, 200], seconds=5)
    assert token_id in catalog(two, url, "tokens").stdout

    catalog(two, url, "revoke", f"--id={token_id}")
    until(lambda: [status(one, signed), status(two, signed)] == [401, 401], seconds=5)
    assert catalog(one, url, "tokens").stdout.endswith("  revoked\n")


def test_a_browser_signs_in_on_one_host_and_goes_on_on_the_other(
    hosts: tuple[Client, Client], url: str
) -> None:
    one, two = hosts
    link = catalog(one, url, "sign-in-link", "--subject=ada", "--address=").stdout.strip()
    link = link[link.index("/sign-in") :]
    browser, elsewhere = Browser(two), Browser(one)
    browser.take(browser.get(link))
    assert Browser(one).get(link).status_code == 403

    elsewhere.cookie = browser.cookie
    assert "ada" in elsewhere.get("/").text
    assert elsewhere.submit("/sign-out").status_code == 303
    catalog(one, url, "revoke", "--subject=ada")
    until(lambda: browser.get("/").status_code == 401, seconds=5)


def test_what_a_directory_had_is_taken_over_once(
    tmp_path: Path, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    directory = tmp_path / "one"
    with running(directory_of(directory), jwt_secret=None, database_url=None):
        pass
    made = {
        subject: CliRunner().invoke(
            main,
            ["token", f"--subject={subject}", "--role=reader", "--expires=30d"],
            env={"CATALOG_DATA": str(directory)},
        )
        for subject in ("ann", "bob")
    }
    CliRunner().invoke(main, ["revoke", "--subject=bob"], env={"CATALOG_DATA": str(directory)})
    moved = directory_of(tmp_path / "moved")
    for document in (REGISTER, SECRET, SESSION_KEY):
        (moved / document).write_bytes((directory / document).read_bytes())

    with host(moved, url) as one, host(tmp_path / "two", url) as two:
        for client in (one, two):
            good = [status(client, made[each].stdout.strip()) for each in ("ann", "bob")]
            assert good == [200, 401]
    assert {path.name for path in moved.glob("*.before-database")} == {
        f"{document}.before-database" for document in (REGISTER, SECRET, SESSION_KEY)
    }
    said = [record.message for record in caplog.records if "taken over" in record.message]
    assert said == ["taken over into the database"] * 3


def directory_of(path: Path) -> Path:
    path.mkdir()
    return path


def test_the_secret_of_a_further_directory_is_not_trusted(tmp_path: Path, url: str) -> None:
    with host(tmp_path / "one", url) as one:
        other = directory_of(tmp_path / "other")
        (other / SECRET).write_text("another secret, which has more than 32 bytes")
        (other / REGISTER).write_text('{"subjects": {"ann": 4e9}}')
        made = catalog(one, url, "token", "--subject=ann", "--role=reader").stdout.strip()
        assert status(one, made) == 200
        with host(other, url) as two:
            # Whom that directory has revoked is revoked on all hosts.
            assert status(two, made) == 401
            until(lambda: status(one, made) == 401, seconds=5)
        assert not (other / SECRET).exists()
        listed = catalog(one, url, "token", "--subject=bo", "--role=bot", "--expires=1d")
        assert listed.exit_code == 0
        known = key_id("another secret, which has more than 32 bytes")
        assert known not in catalog(one, url, "tokens").stdout


def test_a_database_of_the_first_step_is_migrated_and_serves(tmp_path: Path, url: str) -> None:
    with release_with(1):
        migrate_log(url)
    with pytest.raises(StoreUnavailable, match="then run catalog-replay migrate"):
        open_verifier(Settings(data=str(tmp_path / "one"), database_url=url))

    assert migrate_log(url) == (1, schema.VERSION)
    with host(tmp_path / "one", url) as one:
        made = catalog(one, url, "token", "--subject=ann", "--role=reader").stdout.strip()
        assert status(one, made) == 200


def test_commands_on_a_host_need_to_know_the_database(
    hosts: tuple[Client, Client],
) -> None:
    environment = {"CATALOG_DATA": str(hosts[0].directory), "CATALOG_DATABASE_URL": None}
    done = CliRunner().invoke(main, ["revoke", "--subject=ann"], env=environment)
    assert (done.exit_code, "name it with CATALOG_DATABASE_URL" in done.stderr) == (2, True)
