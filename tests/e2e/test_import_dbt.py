"""`catalog import-dbt`, on recorded artifacts and on those of a dbt that runs."""

import json
import os
import shlex
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from domain.event_store.opening import open_event_log
from tests.domain.dbt.recorded import PROJECT, artifact, packed, run
from tests.e2e.conftest import catalog

COMMAND = os.environ.get("DBT_COMMAND", "")
TABLES = ("customers", "orders_v1", "orders_v2")
SERVICE = [
    {"entityType": "databaseService", "name": "duck", "serviceType": "Mysql"},
    {"entityType": "database", "name": "shop", "service": "duck"},
    {"entityType": "databaseSchema", "name": "main", "database": "duck.shop"},
]


def filled(directory: Path) -> Path:
    """The data of a catalog that has the tables of the project."""
    columns = [{"name": name, "dataType": "INT"} for name in ("id", "name", "customer", "total")]
    parent = {"databaseSchema": "duck.shop.main", "columns": columns}
    tables = [{"entityType": "table", "name": name, **parent} for name in TABLES]
    lines = directory / "lines.jsonl"
    lines.write_text("".join(f"{json.dumps(each)}\n" for each in [*SERVICE, *tables]))
    data = directory / "data"
    done = catalog("import", str(lines), "--data", str(data))
    assert done.returncode == 0, done.stderr
    return data


def import_dbt(target: Path, data: Path, *more: str) -> tuple[int, list[str]]:
    done = catalog("import-dbt", str(target), "--service", "duck", "--data", str(data), *more)
    return done.returncode, [*done.stdout.splitlines(), *done.stderr.splitlines()]


def head(data: Path) -> int:
    log = open_event_log(data / "events.db")
    try:
        return log.head()
    finally:
        log.close()


def test_target_of_a_project_is_imported_once(tmp_path: Path) -> None:
    data = filled(tmp_path)
    (tmp_path / "manifest.json").write_bytes(packed(artifact("manifest")))
    (tmp_path / "run_results.json").write_bytes(run("failed_tests", datetime.now(UTC).isoformat()))
    results = ["model.shop.customers: Success", "model.shop.orders.v2: Failed"]
    unknown = "created; no user or team is named 'ann'"

    first = import_dbt(tmp_path, data)
    before = head(data)
    second = import_dbt(tmp_path, data)

    assert first == (
        0,
        [
            f"model.shop.customers: {unknown}",
            f"model.shop.orders.v1: {unknown} or 'ann@example.org'",
            f"model.shop.orders.v2: {unknown} or 'ann@example.org'",
            *results,
            "contracts: 3 created, 0 changed, 0 unchanged, 0 withdrawn, 0 skipped",
        ],
    )
    assert second == (
        0,
        [*results, "contracts: 0 created, 0 changed, 3 unchanged, 0 withdrawn, 0 skipped"],
    )
    assert head(data) == before


def test_contracts_that_are_skipped_or_withdrawn_are_named(tmp_path: Path) -> None:
    data = filled(tmp_path)
    file = tmp_path / "manifest.json"
    file.write_bytes(packed(artifact("manifest")))
    import_dbt(tmp_path, data)
    later = artifact("later_manifest")
    later["nodes"]["model.shop.notes"]["contract"]["enforced"] = True
    file.write_bytes(packed(later))

    assert import_dbt(tmp_path, data) == (
        1,
        [
            "model.shop.notes: skipped; the catalog has no such table",
            "model.shop.orders.v2: changed; bump major",
            "model.shop.customers: withdrawn; bump minor",
            "model.shop.orders.v1: withdrawn; bump minor",
            "contracts: 0 created, 1 changed, 0 unchanged, 2 withdrawn, 1 skipped",
        ],
    )


def test_what_cannot_be_read_is_told_in_one_line(tmp_path: Path) -> None:
    data, file = filled(tmp_path), tmp_path / "manifest.json"
    missing = import_dbt(tmp_path, data)
    os.mkfifo(file)
    nobody_writes = import_dbt(tmp_path, data)
    file.unlink()
    file.write_bytes(b"{}")
    empty = import_dbt(tmp_path, data)
    file.write_bytes(packed(artifact("manifest")))
    nowhere = catalog("import-dbt", str(tmp_path), "--service", "x", "--data", str(data))

    told = f"error: {file} does not exist: run dbt build or dbt parse"
    assert missing == nobody_writes == (2, [told])
    assert (empty[0], empty[1][0].partition(": Object")[0]) == (
        2,
        "error: this is no manifest.json of dbt",
    )
    assert nowhere.stderr == "error: databaseService instance for 'x' not found\n"


@pytest.mark.skipif(not COMMAND, reason="DBT_COMMAND does not name dbt with its adapter of DuckDB")
def test_running_dbt_twice_stores_no_event_the_second_time(tmp_path: Path) -> None:
    data, project = filled(tmp_path), tmp_path / "project"
    shutil.copytree(PROJECT, project)
    heads = []
    for _ in range(2):
        build = [*shlex.split(COMMAND), "build", "--profiles-dir", "."]
        done = subprocess.run(build, cwd=project, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout
        code, lines = import_dbt(project / "target", data)
        assert code == 0, lines
        assert "model.shop.orders.v2: Success" in lines
        heads.append(head(data))

    assert heads[0] == heads[1]
