"""A log, an export or a copy that a later release has written is refused, and the release named."""

import json
import shutil
import sqlite3
from contextlib import closing
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

from benchmarks.postgres_server import PostgresServer, new_schema
from domain.release import RELEASE
from projections.wiring.stores import open_log
from tests.contracts.test_event_store_features import name_a_later_feature, run
from tests.e2e.conftest import replay

SENTENCE = (
    f"uses event:entity.merged, which this release ({RELEASE}) does not know:"
    " release 0.11.0 knows it"
)


def files(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.is_file()}


def write_by_a_later_release(data: Path, database: str | None = None) -> None:
    """Have the log of a directory name what only a later release knows."""
    with closing(open_log(data, database)) as log:
        name_a_later_feature(log)


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def options(
    request: pytest.FixtureRequest, built: Path, tmp_path_factory: pytest.TempPathFactory
) -> list[str]:
    """The options that name a log of some events, which no test changes."""
    directory = tmp_path_factory.mktemp("later")
    if request.param == "sqlite":
        data = Path(shutil.copytree(built, directory / "data"))
        write_by_a_later_release(data)
        return ["--data", str(data)]
    server: PostgresServer = request.getfixturevalue("postgres")
    url, file, other = server.url(new_schema()), directory / "log.ndjson", directory / "other"
    named = ["--data", str(other), "--database", url]
    assert replay("export", str(file), "--data", str(built)).returncode == 0
    assert replay("import", str(file), *named).returncode == 0
    write_by_a_later_release(other, url)
    return named


@pytest.mark.parametrize(
    "command", ["inspect", "verify log", "verify all", "catch-up", "export -", "history table x"]
)
def test_commands_refuse_the_log(options: list[str], command: str) -> None:
    refused = replay(*command.split(), *options)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == f"error: the log {SENTENCE}\n"


def exported(data: Path, file: Path) -> list[Any]:
    assert replay("export", str(file), "--data", str(data)).returncode == 0
    return [json.loads(line) for line in file.read_bytes().splitlines()]


def test_export_names_the_features_of_its_events(built: Path, tmp_path: Path) -> None:
    header = exported(built, tmp_path / "log.ndjson")[0]
    assert header["features"] == dict.fromkeys(
        [
            "event:entity.created",
            "event:entity.changed",
            "event:entity.purged",
            "field:entity.created.parentId",
            "kind:databaseService",
            "kind:database",
            "kind:databaseSchema",
            "kind:table",
        ],
        "0.2.0",
    )


@pytest.mark.parametrize("whole", [True, False])
def test_export_of_a_later_release_is_refused_before_anything_is_made(
    built: Path, tmp_path: Path, whole: bool
) -> None:
    file, other = tmp_path / "log.ndjson", tmp_path / "other"
    lines = exported(built, file)
    lines[0]["features"]["event:entity.merged"] = "0.11.0"
    kept = lines if whole else lines[:1]
    file.write_text("".join(f"{json.dumps(line)}\n" for line in kept))
    refused = replay("import", str(file), "--data", str(other))
    assert (refused.returncode, refused.stderr) == (2, f"error: {file} {SENTENCE}\n")
    assert not other.exists()


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"type": "entity.merged"}, "the type 'entity.merged'"),
        ({"payload": {"door": "mcp"}}, "the field 'door' of entity.created"),
        ({"payload": {"schema": 2}}, "a schema of entity.created above 1"),
        ({"payload": {"kind": "spreadsheet"}}, "the kind 'spreadsheet'"),
    ],
)
def test_export_whose_events_use_more_than_its_header_says_leaves_nothing_behind(
    built: Path, tmp_path: Path, change: dict[str, Any], what: str
) -> None:
    file, other = tmp_path / "log.ndjson", tmp_path / "other"
    lines = exported(built, file)
    lines[2]["payload"] |= change.pop("payload", {})
    lines[2] |= change
    text = [f"{json.dumps(line)}\n".encode() for line in lines[:-1]]
    lines[-1]["digest"] = blake2b(b"".join(text[1:]), digest_size=32).hexdigest()
    file.write_bytes(b"".join(text) + json.dumps(lines[-1]).encode())
    refused = replay("import", str(file), "--data", str(other))
    assert refused.returncode == 2
    assert refused.stderr == (
        f"error: the event at position 2: an event has {what}, which this release ({RELEASE})"
        " does not know\n"
    )
    assert [path.name for path in other.iterdir()] == ["projectors.lock"]


def test_export_from_before_features_is_imported(built: Path, tmp_path: Path) -> None:
    file, again, other = (tmp_path / name for name in ("log.ndjson", "again.ndjson", "other"))
    lines = exported(built, file)
    named = lines[0].pop("features")
    text = file.read_text().splitlines(keepends=True)
    file.write_text("".join([f"{json.dumps(lines[0])}\n", *text[1:]]))
    imported = replay("import", str(file), "--data", str(other))
    assert imported.returncode == 0, imported.stderr
    assert exported(other, again)[0]["features"] == named


def test_copy_of_a_later_release_is_not_restored(data: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    with closing(open_log(data)) as log:
        name_a_later_feature(log)
        with (
            closing(sqlite3.connect(data / "events.db")) as one,
            closing(sqlite3.connect(copy)) as two,
        ):
            one.backup(two)
        run(log, "DELETE FROM features WHERE since = '0.11.0'")
    before = files(data)
    refused = replay("restore", str(copy), "--data", str(data))
    assert (refused.returncode, refused.stderr) == (2, f"error: {copy} {SENTENCE}\n")
    assert (files(data).keys(), (data / "replaced-1").exists()) == (before.keys(), False)
    shutil.rmtree(data)
    assert replay("restore", str(copy), "--data", str(data)).returncode == 2
    assert not (data / "events.db").exists()


def test_events_of_a_later_release_that_are_not_named_are_found_by_verify(data: Path) -> None:
    with closing(sqlite3.connect(data / "events.db")) as connection, connection:
        connection.execute("UPDATE stored_events SET topic = 'entity.merged' WHERE rowid = 5")
    found = replay("verify", "log", "--json", "--data", str(data))
    problems = json.loads(found.stdout)["log"]["problems"]
    assert problems[0]["what"] == (
        "of a later release, not damaged: an event has the type 'entity.merged', which this"
        f" release ({RELEASE}) does not know"
    )
