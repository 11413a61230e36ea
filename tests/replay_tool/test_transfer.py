"""`catalog-replay export` and `import`: a log moved is the log it was."""

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from projections.entities.sqlite.model import open_read_model
from projections.wiring.stores import open_log
from tests.e2e.conftest import replay


def digests(data: Path) -> list[Any]:
    """Kind, counts and digests of both read models."""
    found = json.loads(replay("verify", "--json", "--data", str(data)).stdout)
    assert found["verdict"] == "equal"
    return [proof["kinds"] for proof in found["projections"]]


@pytest.mark.parametrize("name", ["log.ndjson", "log.ndjson.gz"])
def test_moved_log_gives_the_same_read_models(built: Path, tmp_path: Path, name: str) -> None:
    file, other = tmp_path / name, tmp_path / "other"

    exported = replay("export", str(file), "--data", str(built))
    imported = replay("import", str(file), "--data", str(other))
    caught_up = replay("catch-up", "--data", str(other))
    again = replay("export", str(tmp_path / f"again-{name}"), "--data", str(other))

    done = exported, imported, caught_up, again
    assert [each.returncode for each in done] == [0, 0, 0, 0], [each.stderr for each in done]
    assert exported.stderr.startswith("exported 8 events, head 8, in ")
    assert imported.stderr.startswith("imported 8 events, head 8, in ")
    assert digests(other) == digests(built)
    opened = gzip.open if name.endswith(".gz") else open
    with opened(file) as first, opened(tmp_path / f"again-{name}") as second:
        assert first.readlines()[1:] == second.readlines()[1:]
    assert sorted(path.name for path in tmp_path.glob("*.new")) == []


@pytest.mark.parametrize("name", ["events.db", "secret", "backup.ndjson"])
def test_export_into_the_data_directory_is_refused(built: Path, name: str) -> None:
    before = {path.name: path.read_bytes() for path in built.iterdir() if path.is_file()}
    refused = replay("export", str(built / name), "--data", str(built))
    assert refused.returncode == 2
    assert refused.stderr == (
        f"error: {built / name} is inside the data directory {built}: export to another place\n"
    )
    after = {path.name: path.read_bytes() for path in built.iterdir() if path.is_file()}
    assert after == before


def test_log_travels_through_a_pipe(built: Path, tmp_path: Path) -> None:
    exported = replay("export", "-", "--data", str(built))
    log = exported.stdout.encode()
    imported = replay("import", "-", "--data", str(tmp_path / "other"), given=log)

    assert (exported.returncode, imported.returncode) == (0, 0)
    assert imported.stderr.startswith("imported 8 events")


def test_cut_file_leaves_nothing_behind(built: Path, tmp_path: Path) -> None:
    file, other = tmp_path / "log.ndjson", tmp_path / "other"
    assert replay("export", str(file), "--data", str(built)).returncode == 0
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])

    refused = replay("import", str(file), "--data", str(other))
    file.write_bytes(whole)
    accepted = replay("import", str(file), "--data", str(other))

    assert refused.returncode == 2
    assert "the trailer is missing: the file was cut off" in refused.stderr
    assert (accepted.returncode, accepted.stderr[:17]) == (0, "imported 8 events")


@pytest.mark.parametrize(
    ("damage", "exists"),
    [
        ("no file", False),
        ("of another format", False),
        ("cut off", False),
        ("changed", False),
        ("changed", True),
    ],
)
def test_refused_import_leaves_nothing_but_the_lock(
    built: Path, tmp_path: Path, damage: str, exists: bool
) -> None:
    file, other = tmp_path / "log.ndjson", tmp_path / "new" / "other"
    if exists:
        other.mkdir(parents=True)
        (other / "secret").write_text("kept")
    assert replay("export", str(file), "--data", str(built)).returncode == 0
    whole = file.read_bytes()
    if damage == "no file":
        file.unlink()
    else:
        damaged = {
            "of another format": b'{"format":"another"}\n',
            "cut off": whole[:-10],
            "changed": whole.replace(b"sales", b"sates"),
        }
        file.write_bytes(damaged[damage])

    refused = replay("import", str(file), "--data", str(other))
    left = sorted(path.name for path in (tmp_path / "new").rglob("*"))
    file.write_bytes(whole)
    accepted = replay("import", str(file), "--data", str(other))

    assert refused.returncode == 2
    # A lock that was taken stays, and the directory with it.
    locked = ["other", "projectors.lock"] if damage in ("cut off", "changed") else []
    assert left == [*locked, *(["secret"] if exists else [])]
    assert (accepted.returncode, accepted.stderr[:17]) == (0, "imported 8 events")


def test_import_begins_anew_where_one_was_killed(built: Path, tmp_path: Path) -> None:
    file, other = tmp_path / "log.ndjson", tmp_path / "other"
    assert replay("export", str(file), "--data", str(built)).returncode == 0
    shutil.copytree(built, other / "import.new")
    before = replay("inspect", "--data", str(other))

    accepted = replay("import", str(file), "--data", str(other))

    assert before.stderr == f"error: {other} holds no catalog: it has no log\n"
    assert (accepted.returncode, accepted.stderr[:17]) == (0, "imported 8 events")
    assert sorted(path.name for path in other.iterdir()) == ["events.db", "projectors.lock"]


def test_empty_log_takes_an_import_after_a_refused_one(built: Path, tmp_path: Path) -> None:
    file, other = tmp_path / "log.ndjson", tmp_path / "other"
    assert replay("export", str(file), "--data", str(built)).returncode == 0
    whole = file.read_bytes()
    file.write_bytes(whole[:-10])
    open_log(other).close()

    refused = replay("import", str(file), "--data", str(other))
    file.write_bytes(whole)
    accepted = replay("import", str(file), "--data", str(other))
    again = replay("import", str(file), "--data", str(other))

    assert [refused.returncode, accepted.returncode, again.returncode] == [2, 0, 2]
    assert again.stderr == "error: the log has events: import into an empty one\n"


def test_cut_compressed_file_is_refused(built: Path, tmp_path: Path) -> None:
    file = tmp_path / "log.ndjson.gz"
    assert replay("export", str(file), "--data", str(built)).returncode == 0
    file.write_bytes(file.read_bytes()[:-20])

    refused = replay("import", str(file), "--data", str(tmp_path / "other"))

    assert (refused.returncode, "cannot be read to its end" in refused.stderr) == (2, True)


def test_catalog_takes_no_other_log(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "log.ndjson"
    assert replay("export", str(file), "--data", str(data)).returncode == 0

    refused = replay("import", str(file), "--data", str(data))

    assert refused.returncode == 2
    assert (
        "holds a catalog (it has entities-1.db): import into an empty directory" in refused.stderr
    )
    store = open_read_model(data / "entities-1.db", writable=False)
    assert store.count() == 4
    store.close()
