"""The commands over a log in PostgreSQL, and the move from a file to there and back."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from benchmarks.postgres_server import PostgresServer, new_schema
from domain.event_store.postgres.schema import VERSION
from replay_tool.commands import main


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    return postgres.url(new_schema())


def run(*arguments: str, code: int = 0, **environment: str) -> Result:
    """Return what a command says that ends with an exit code."""
    result = CliRunner().invoke(main, arguments, env=environment)
    assert result.exit_code == code, result.output
    return result


def digests(data: Path, *place: str) -> list[Any]:
    """Kind, counts and digests of both read models, which are as a replay gives them."""
    found = msgspec.json.decode(run("verify", "--json", "--data", str(data), *place).stdout)
    assert found["verdict"] == "equal"
    return [found["log"]["events"], *(proof["kinds"] for proof in found["projections"])]


def test_log_moved_to_a_database_and_back_is_the_log_it_was(
    built: Path, tmp_path: Path, url: str
) -> None:
    there, back = (str(tmp_path / name) for name in ("there.ndjson.gz", "back.ndjson"))
    database, file = tmp_path / "database", tmp_path / "file"
    place = ("--data", str(database), "--database", url)

    run("export", there, "--data", str(built))
    run("import", there, *place)
    run("catch-up", *place)
    run("export", back, *place)
    run("import", back, "--data", str(file))
    run("catch-up", "--data", str(file))

    assert digests(database, "--database", url) == digests(built) == digests(file)
    run("verify", "log", "--against", there, *place)
    assert run("import", back, *place, code=2).stderr.startswith("error: ")


def test_every_command_works_on_the_database(built: Path, tmp_path: Path, url: str) -> None:
    export = str(tmp_path / "log.ndjson")
    run("export", export, "--data", str(built))
    known = {"CATALOG_DATABASE_URL": url, "CATALOG_DATA": str(tmp_path / "data")}
    assert run("migrate", **known).stdout == f"log: version {VERSION}, was 0\n"
    assert run("migrate", **known).stdout == f"log: version {VERSION}\n"
    run("import", export, **known)
    run("catch-up", **known)
    assert "rebuilt, generation 2" in run("rebuild", "entities", "--force", **known).stdout
    assert "rolled back, generation 1" in run("rollback", "entities", **known).stdout
    assert ": head 8, " in run("inspect", **known).stdout
    assert "all orders" in run("history", "table", "shop.db.sales.orders", **known).stdout
    gone = run("history", "table", "shop.db.sales.gone", **known).stdout
    assert "bob" in gone


def test_import_that_fails_leaves_no_event(built: Path, tmp_path: Path, url: str) -> None:
    file = tmp_path / "log.ndjson"
    run("export", str(file), "--data", str(built))
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    place = ("--data", str(tmp_path / "data"), "--database", url)

    run("import", str(file), *place, code=2)

    assert [path.name for path in (tmp_path / "data").iterdir()] == ["projectors.lock"]
    file.write_bytes(whole)
    run("import", str(file), *place)


def test_database_without_a_log_is_refused_and_left_alone(tmp_path: Path, url: str) -> None:
    place = ("--data", str(tmp_path / "data"), "--database", url)
    export, history = ["export", str(tmp_path / "file")], ["history", "table", "a"]
    for command in (export, history, ["inspect"], ["verify"], ["rebuild"], ["rollback"], export):
        result = run(*command, *place, code=2)
        assert result.stderr.endswith("of the database holds no log\n"), command
    assert list(tmp_path.iterdir()) == []
    assert run("catch-up", *place, code=2).stderr.endswith("of the database holds no log\n")


def test_password_is_taken_from_the_environment_alone(tmp_path: Path) -> None:
    url = "postgresql://ann:s3cret@127.0.0.1:1/catalog?sslmode=disable"
    refused = run("inspect", "--database", url, code=2)
    away = run("inspect", "--data", str(tmp_path), code=2, CATALOG_DATABASE_URL=url)
    assert "use CATALOG_DATABASE_URL, PGPASSWORD or PGPASSFILE" in refused.stderr
    assert "Connection refused" in away.stderr
    assert "s3cret" not in refused.output + away.output


def test_migrate_needs_a_database() -> None:
    assert "name the database" in run("migrate", code=2).stderr
