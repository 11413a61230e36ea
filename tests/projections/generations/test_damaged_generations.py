"""Generations that are damaged, too old or of another catalog: noticed, never served."""

import shutil
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from domain.errors import StoreUnavailable
from projections.generations import fed_generation
from projections.generations.building import build
from projections.generations.current_generation import CurrentGeneration
from projections.operation.inspection import inspect
from projections.search.index.format.storage import Directory
from tests.projections.read_models import create, found, generations, listed, opened, rebuild, step


def changed(data: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """The data with up to ten bytes changed, in a place that is used."""
    place = max(data.find(b"serviceType"), len(data) // 2 if len(data) < 5_000 else 0)
    return data[:place] + change(data[place : place + 10]) + data[place + 10 :]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "truncated": lambda data: data[: len(data) // 2],
    "zeroed": lambda data: changed(data, lambda part: bytes(len(part))),
    "flipped": lambda data: changed(data, lambda part: bytes([part[0] ^ 0x55, *part[1:]])),
    "empty": lambda data: b"",
}


def damaged_files(directory: Path) -> list[Path]:
    index = sorted((directory / "search-1").iterdir())
    kept = [path for path in index if path.is_file() and "LOCK" not in path.name]
    return [directory / "entities-1.db", *(path for path in kept if path.stat().st_size)]


@pytest.mark.parametrize("damage", [*DAMAGES, "removed"])
def test_damaged_file_is_noticed_at_start_and_never_served(directory: Path, damage: str) -> None:
    count = len(damaged_files(directory))
    assert count > 3  # the sorted model, and of the index a segment, its table and the manifest
    for number in range(count):
        copy = directory.with_name(f"copy{number}")
        shutil.copytree(directory, copy)
        path = damaged_files(copy)[number]
        if damage == "removed":
            path.unlink()
        else:
            path.write_bytes(DAMAGES[damage](path.read_bytes()))
        with opened(copy) as stores:
            models: list[CurrentGeneration[Any]] = stores.read_models
            with pytest.raises(
                StoreUnavailable, match=r"is not built yet.*: a server builds it at its start"
            ):
                models[number > 0].generation()
            step(stores)
            assert generations(stores) == ([2, 1] if number == 0 else [1, 2])
            assert len(found(stores)) == 3
            assert listed(stores).count(b'"name":') == 3


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has every read model count as large."""
    monkeypatch.setattr(fed_generation, "CHECK_AT_START_BYTES", 0)
    monkeypatch.setattr(Directory, "summed_at_once", 0)


@pytest.mark.usefixtures("large")
def test_damage_of_a_large_file_is_noticed_while_it_is_served(directory: Path) -> None:
    path = directory / "entities-1.db"
    path.write_bytes(path.read_bytes().replace(b'"serviceType":"Mysql"', b'"serviceType":"MySQL"'))
    with opened(directory) as stores:
        join_checks()
        step(stores)
        assert generations(stores) == [2, 1]
        assert b"MySQL" not in listed(stores)


def damage_index(folder: Path) -> None:
    """Turn a bit of a name in a segment, which leaves the index readable."""
    (path,) = folder.glob("*.arrays")
    path.write_bytes(path.read_bytes().replace(b"mysql", b"mYsql"))


def join_checks() -> None:
    for checker in [one for one in threading.enumerate() if one.name.startswith("check-")]:
        checker.join()


@pytest.mark.usefixtures("large")
def test_damage_of_a_large_index_is_noticed_while_it_is_served(directory: Path) -> None:
    damage_index(directory / "search-1")
    with opened(directory) as stores, opened(directory, writable=False) as worker:
        join_checks()
        step(stores)
        for each in (stores, worker):
            assert generations(each) == [1, 2]
            assert len(found(each)) == 3


@pytest.mark.usefixtures("large")
def test_known_damage_of_an_index_is_told_and_refused_also_after_a_restart(
    directory: Path,
) -> None:
    damage_index(directory / "search-1")
    for _ in range(2):
        with opened(directory, writable=False) as worker:
            with (
                pytest.raises(StoreUnavailable, match="checksum"),
                worker.engine.use() as engine,
                engine.snapshot(),
            ):
                pass
            with pytest.raises(StoreUnavailable, match="checksum"):
                found(worker)
            report = inspect(worker).projections[1]
            assert (report.name, report.state) == ("search", "unavailable")
            assert "checksum" in str(report.error)
    with opened(directory) as stores:
        with pytest.raises(StoreUnavailable, match="is not built yet"):
            found(stores)
        step(stores)
        assert generations(stores) == [1, 2]
        assert len(found(stores)) == 3


@pytest.mark.usefixtures("large")
def test_proposed_generation_that_turns_out_damaged_leaves_the_live_one(directory: Path) -> None:
    with opened(directory) as stores:
        search = stores.engine
        build(search.definition, stores.log, lambda done, total: None)
        damage_index(directory / "search-2")
        supervisor = stores.supervisors[1]
        proposal = search.generations.proposal
        while (given := proposal()) is not None and given.refused is None:
            supervisor.step()
        assert given is not None
        assert "checksum" in str(given.refused)
        assert generations(stores) == [1, 1]
        assert len(found(stores)) == 3


@pytest.mark.usefixtures("large")
def test_large_generation_is_left_while_it_is_checked(directory: Path) -> None:
    with opened(directory) as stores:
        rebuild(stores)
        while generations(stores) != [2, 2]:
            step(stores)
        assert len(found(stores)) == 3
    assert [one.name for one in threading.enumerate() if one.name.startswith("check-")] == []


def restored(directory: Path, backup: Path) -> None:
    """Put an older log into the place of the newer one."""
    for path in directory.glob("events.db*"):
        path.unlink()
    for path in backup.glob("events.db*"):
        shutil.copy(path, directory)


@pytest.mark.parametrize("grown", [0, 1, 5])
def test_restored_older_log_is_noticed_also_when_it_has_grown(
    directory: Path, tmp_path: Path, grown: int
) -> None:
    shutil.copytree(directory, tmp_path / "backup")
    with opened(directory) as stores:
        create(stores, "d", "e")
        step(stores)
    restored(directory, tmp_path / "backup")
    with opened(tmp_path / "backup") as stores:
        pass
    log_only = tmp_path / "log"
    log_only.mkdir()
    restored(log_only, directory)
    with opened(log_only) as stores:
        create(stores, *[f"x{n}" for n in range(grown)])
    restored(directory, log_only)

    with opened(directory, writable=False) as reader:
        for read in (listed, found):
            with pytest.raises(StoreUnavailable, match="must not be served"):
                read(reader)
    with opened(directory) as stores:
        step(stores)
        assert generations(stores) == [2, 2]
        assert len(found(stores)) == 3 + grown
        assert listed(stores).count(b'"name":') == 3 + grown


def test_older_read_models_catch_up(directory: Path, tmp_path: Path) -> None:
    shutil.copytree(directory, tmp_path / "backup")
    with opened(directory) as stores:
        create(stores, "d")
        step(stores)
    for name in ("entities-1.db", "search-1"):
        shutil.rmtree(directory / name, ignore_errors=True)
        (directory / name).unlink(missing_ok=True)
    shutil.copy(tmp_path / "backup" / "entities-1.db", directory)
    shutil.copytree(tmp_path / "backup" / "search-1", directory / "search-1")

    with opened(directory) as stores:
        step(stores)
        assert generations(stores) == [1, 1]
        assert (len(found(stores)), listed(stores).count(b'"name":')) == (4, 4)


def test_read_models_of_another_catalog_are_refused(directory: Path, tmp_path: Path) -> None:
    with opened(tmp_path / "other") as stores:
        create(stores, "x", "y", "z")
    restored(directory, tmp_path / "other")
    with opened(directory) as stores:
        step(stores)
        assert generations(stores) == [2, 2]
        assert b'"x"' in listed(stores)


def test_pointer_that_cannot_be_read_leads_to_a_new_generation(directory: Path) -> None:
    (directory / "entities.json").write_text("{")
    with opened(directory) as stores:
        step(stores)
        assert generations(stores) == [2, 1]
        assert listed(stores).count(b'"name":') == 3


def test_entities_of_a_damaged_log_are_not_built(directory: Path) -> None:
    with sqlite3.connect(directory / "events.db") as connection:
        connection.execute("DELETE FROM claims WHERE name = 'b'")
    connection.close()
    with opened(directory) as stores:
        with pytest.raises(StoreUnavailable, match="2 names are claimed by 3 entities"):
            rebuild(stores)
        assert listed(stores).count(b'"name":') == 3
