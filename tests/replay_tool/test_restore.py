"""`catalog-replay restore`: a copy of events.db becomes the log, and the read models follow it."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from benchmarks.direct_catalog import DirectCatalog
from domain.kinds.registry import KINDS
from domain.write_context import WriteContext
from projections.feeding.daemon import ProjectorLock
from projections.wiring.stores import open_log
from tests.e2e.conftest import replay
from tests.replay_tool.test_transfer import digests


def create(data: Path, *names: str) -> None:
    with closing(open_log(data)) as log:
        for name in names:
            values = {"name": name, "serviceType": "Mysql"}
            context = WriteContext(actor="ann", request_id=name)
            DirectCatalog(log).create(KINDS["databaseService"], values, context)


@pytest.fixture
def copy(data: Path, tmp_path: Path) -> Path:
    """A copy of the log with 8 events."""
    copy = tmp_path / "copy.db"
    with closing(sqlite3.connect(data / "events.db")) as one, closing(sqlite3.connect(copy)) as two:
        one.backup(two)
    return copy


@pytest.mark.parametrize("afterwards", [(), ("c", "d", "e")])
def test_read_models_follow_the_log_that_is_restored(
    data: Path, built: Path, copy: Path, afterwards: tuple[str, ...]
) -> None:
    """They are ahead of the log then, or of another one with as many events."""
    create(data, "a", "b")
    assert replay("catch-up", "--data", str(data)).returncode == 0

    restored = replay("restore", str(copy), "--data", str(data))
    create(data, *afterwards)
    caught_up = replay("catch-up", "--data", str(data))

    assert (restored.returncode, caught_up.returncode) == (0, 0), restored.stderr
    assert restored.stderr.startswith("restored 8 events, head 8, in ")
    assert restored.stderr.endswith(f"; the log that was there is in {data / 'replaced-1'}\n")
    assert (digests(data) == digests(built)) == (not afterwards)


def test_copy_becomes_a_catalog_where_there_is_none(
    built: Path, copy: Path, tmp_path: Path
) -> None:
    new = tmp_path / "new" / "data"

    restored = replay("restore", str(copy), "--data", str(new))
    caught_up = replay("catch-up", "--data", str(new))

    assert (restored.returncode, caught_up.returncode) == (0, 0), restored.stderr
    assert "replaced" not in restored.stderr
    assert digests(new) == digests(built)


def test_nothing_is_restored_while_a_process_projects(data: Path, copy: Path) -> None:
    with ProjectorLock(data):
        refused = replay("restore", str(copy), "--data", str(data))

    assert (refused.returncode, [*data.glob("replaced-*")]) == (2, [])
    assert refused.stderr == (f"error: a server or command already uses {data}: stop it first\n")


def test_no_command_opens_a_log_that_is_half_replaced(data: Path, copy: Path) -> None:
    incoming = data / "replaced-1" / "incoming.db"
    incoming.parent.mkdir()
    copy.rename(incoming)

    for command in ("inspect", "verify", "catch-up", "rebuild"):
        refused = replay(command, "--data", str(data))
        assert (refused.returncode, refused.stderr) == (
            2,
            f"error: a restore of the log in {data} was interrupted, or is under way. To go on with"
            f" it: catalog-replay restore {incoming} --data {data}\n",
        )
    assert replay("restore", str(incoming), "--data", str(data)).returncode == 0
    assert replay("verify", "--data", str(data)).returncode == 0


@pytest.mark.parametrize("what", ["no file", "in a database", "of another catalog"])
def test_what_cannot_be_restored_is_refused_in_a_sentence(
    data: Path, copy: Path, tmp_path: Path, what: str
) -> None:
    environment: dict[str, str] = {}
    if what == "no file":
        copy.unlink()
        message = "does not exist."
    elif what == "in a database":
        environment["CATALOG_DATABASE_URL"] = "postgresql://127.0.0.1/catalog"
        message = "only a log in a file can be restored from a copy"
    else:
        create(tmp_path / "other", "x")
        copy = tmp_path / "other" / "events.db"
        message = "is the log of another catalog"

    refused = replay("restore", str(copy), "--data", str(data), **environment)

    assert (refused.returncode, message in refused.stderr) == (2, True), refused.stderr
    assert [*data.glob("replaced-*")] == []
