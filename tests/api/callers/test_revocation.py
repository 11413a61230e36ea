"""A revoked token is refused by every way to an answer, remembered ones included."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from api.callers.tokens.safe import REGISTER
from api.callers.tokens.secret import key_id
from api.commands import main
from tests.api.conftest import IN_DATABASE, SECRET, Client, environment_of, running
from tests.waiting import until


def catalog(*arguments: str, directory: Path) -> Result:
    """Run a command in a process that has the secret of the tests, and return what it prints."""
    environment = {
        "CATALOG_JWT_SECRET": SECRET,
        "CATALOG_DATA": str(directory),
        **environment_of(directory),
    }
    return CliRunner().invoke(main, arguments, env=environment)


def status(client: Client, method: str, path: str, token: str, **options: Any) -> int:
    headers = {"Authorization": f"Bearer {token}"}
    answer: int = client.http.request(method, path, headers=headers, **options).status_code
    return answer


def test_a_long_lived_token_is_made_listed_and_revoked_by_commands(client: Client) -> None:
    arguments = ("token", "--subject=ingestion-bot", "--role=bot", "--expires=365d")
    made = catalog(*arguments, directory=client.directory)
    assert made.exit_code == 0, made.output
    signed, token_id = made.stdout.strip(), made.stderr.split()[2].rstrip(",")
    until(lambda: status(client, "GET", "/v1/tables", signed) == 200, seconds=5)
    listed = catalog("tokens", directory=client.directory).stdout
    end = made.stderr.split("valid until ")[1].partition(";")[0]
    assert listed == f"{token_id}  ingestion-bot  bot  key {key_id(SECRET)}  until {end}\n"
    assert made.stderr == (
        f"made token {token_id}, valid until {end}; end it earlier with catalog revoke"
        f" --id {token_id}\n"
    )
    assert datetime.fromisoformat(end) > datetime.now(UTC) + timedelta(days=364)

    done = catalog("revoke", f"--id={token_id}", directory=client.directory)
    assert done.stdout == f"revoked: token {token_id}\n"
    until(lambda: status(client, "GET", "/v1/tables", signed) == 401, seconds=5)
    listed = catalog("tokens", directory=client.directory).stdout
    assert listed == f"{token_id}  ingestion-bot  bot  key {key_id(SECRET)}  revoked\n"


def test_an_answer_that_is_remembered_is_not_given_to_a_revoked_token(client: Client) -> None:
    client.schema()
    made = catalog("token", "--subject=ann", "--role=admin", directory=client.directory)
    held = made.stdout.strip()
    asked: list[tuple[str, str, Any]] = [
        ("GET", "/v1/databases", None),
        ("GET", "/v1/databases/name/service.database", None),
        ("GET", "/v1/search/query?q=service", None),
        ("PUT", "/v1/databases", {"name": "database", "service": "service"}),
    ]
    for method, path, body in asked * 2:
        assert status(client, method, path, held, json=body) == 200

    done = catalog("revoke", "--subject=ann", directory=client.directory)
    assert done.stdout == "revoked: all tokens of 'ann' that were issued until now\n"
    until(lambda: status(client, "GET", "/v1/databases", held) == 401, seconds=5)
    for method, path, body in asked:
        assert status(client, method, path, held, json=body) == 401
    renewed = catalog("token", "--subject=ann", "--role=admin", directory=client.directory)
    assert status(client, "GET", "/v1/databases", renewed.stdout.strip()) == 200


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("token", "--subject=a", "--role=bot", "--expires=366d"), "of 365d at most, got '366d'"),
        (("token", "--subject=a", "--role=bot", "--expires=1d", "--ttl=1"), "give one of them"),
        (("revoke",), "name tokens with --id, or whose tokens with --subject"),
        (("revoke", "--id="), "--id must have 1 to 1,024 printable characters, got ''"),
        (("revoke", "--id=a", "--id=a\n"), "--id must have 1 to 1,024 printable characters"),
        (("revoke", "--subject="), "--subject must have 1 to 256 printable characters, got ''"),
        (("import", "--actor=", "-"), "--actor must have 1 to 256 printable characters, got ''"),
    ],
)
def test_commands_refuse_what_has_no_meaning(
    client: Client, arguments: tuple[str, ...], reason: str
) -> None:
    done = catalog(*arguments, directory=client.directory)
    assert done.exit_code == 2
    assert reason in done.stderr
    assert not (client.directory / REGISTER).exists()


@pytest.mark.parametrize(
    "arguments",
    [("token", "--subject=a", "--role=bot", "--expires=1d"), ("revoke", "--id=a"), ("tokens",)],
)
def test_a_register_is_made_in_no_directory_but_that_of_a_catalog(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    done = catalog(*arguments, directory=tmp_path)
    assert done.exit_code == 2
    missing = (
        "of the database holds no log" if IN_DATABASE else "holds neither a secret nor a catalog"
    )
    assert missing in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_server_starts_with_the_revocations_that_there_are(tmp_path: Path) -> None:
    with running(tmp_path):
        made = catalog("token", "--subject=ann", "--role=admin", directory=tmp_path).stdout.strip()
    assert catalog("revoke", "--subject=ann", directory=tmp_path).exit_code == 0
    with running(tmp_path) as client:
        assert status(client, "GET", "/v1/tables", made) == 401


def test_keys_are_replaced_and_dropped_by_commands(tmp_path: Path) -> None:
    def run(*arguments: str) -> list[str]:
        done = CliRunner().invoke(main, [*arguments, f"--data={tmp_path}"], env=told)
        assert done.exit_code == 0, done.output
        return done.stdout.splitlines()

    told = environment_of(tmp_path)
    with running(tmp_path, jwt_secret=None) as client:
        (old,) = run("token", "--subject=ann", "--role=reader", "--expires=30d")
        (listed,) = run("tokens")
        token_id, key = listed.split()[0], listed.split()[4]
        assert run("rotate", "tokens") == [
            f"replaced: key {key}, which is kept until tokens of it end"
        ]
        (new,) = run("token", "--subject=ann", "--role=reader")
        until(
            lambda: [status(client, "GET", "/v1/tables", each) for each in (old, new)] == [200] * 2
        )
        assert run("rotate", "tokens", "--drop") == [
            f"dropped: key {key}",
            f"ended: token {token_id} of 'ann'",
        ]
        until(lambda: status(client, "GET", "/v1/tables", old) == 401)
        assert status(client, "GET", "/v1/tables", new) == 200
        assert run("rotate", "tokens", "--drop") == []


def test_a_secret_that_the_settings_name_is_not_replaced_by_a_command(client: Client) -> None:
    done = catalog("rotate", "tokens", directory=client.directory)
    assert (done.exit_code, "the settings name the keys of tokens" in done.stderr) == (2, True)
