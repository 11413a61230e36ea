"""Generations: built beside the live one, switched to as a whole, refused when wrong."""

import multiprocessing
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from domain.catalog import Catalog
from domain.errors import StoreUnavailable
from domain.registry import KINDS
from projections import keeper as keeper_module
from projections.building import build
from projections.entities import row_makers, rows
from projections.entities.queries import ListRequest, list_page
from projections.generations import Proposal
from projections.keeper import Keeper
from projections.live import Live
from projections.search import load as search_load
from projections.search.engine import EngineQuery
from projections.search.tree import MatchAll
from projections.stores import Stores, open_stores
from projections.switching import is_current, pending, propose_previous, switch
from tests.projections.conftest import ME

EVERYTHING = EngineQuery(tree=MatchAll(), size=100)


def create(stores: Stores, *names: str) -> None:
    """A service per name."""
    catalog = Catalog(stores.log)
    for name in names:
        catalog.create(KINDS["databaseService"], {"name": name, "serviceType": "Mysql"}, ME)


def step(stores: Stores) -> None:
    """What the daemon does, until nothing is left to do."""
    while any([keeper.step() for keeper in stores.keepers]):
        pass


def listed(stores: Stores) -> bytes:
    """The list of all services."""
    with stores.entities.use() as entities:
        return list_page(entities, ListRequest(kind=KINDS["databaseService"], limit=100))


def found(stores: Stores) -> list[str]:
    """The ids that a search for everything finds."""
    with stores.engine.use() as engine:
        return sorted(hit.id for hit in engine.search(EVERYTHING).hits)


def generations(stores: Stores) -> list[int]:
    return [live.generation().number for live in stores.read_models]


def rebuild(stores: Stores) -> None:
    """What `catalog-replay rebuild --force` does beside a process that projects."""
    for live in stores.read_models:
        build(live.definition, live.shelf, stores.log, lambda done, total: None)
    step(stores)


@contextmanager
def opened(directory: Path, *, writable: bool = True) -> Iterator[Stores]:
    stores = open_stores(directory, writable=writable)
    try:
        yield stores
    finally:
        stores.close()


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A data directory with three services in generation 1 of each read model."""
    with opened(tmp_path / "data") as stores:
        create(stores, "a", "b", "c")
        step(stores)
    return tmp_path / "data"


def files(directory: Path) -> list[str]:
    """What lies in a directory, without locks and stamps."""
    return sorted(
        path.name for path in directory.iterdir() if path.suffix not in (".lock", ".db-stamp")
    )


def test_first_generation_is_made_with_the_directory(tmp_path: Path) -> None:
    with opened(tmp_path) as stores:
        assert (generations(stores), found(stores)) == ([1, 1], [])
    assert files(tmp_path) == [
        "entities-1.db",
        "entities.json",
        "events.db",
        "search-1",
        "search.json",
    ]


def test_rebuild_switches_readers_and_keeps_one_previous_generation(directory: Path) -> None:
    with opened(directory) as stores, opened(directory, writable=False) as reader:
        before = listed(reader), found(reader)
        for number in (2, 3):
            rebuild(stores)
            assert generations(stores) == generations(reader) == [number, number]
            assert (listed(reader), found(reader)) == before
        create(stores, "d")
        step(stores)
        assert len(found(reader)) == 4
        names = [name for name in files(directory) if name.startswith(("entities-", "search-"))]
        assert [n for n in names if not n.endswith(("-wal", "-shm"))] == [
            "entities-2.db",
            "entities-3.db",
            "search-2",
            "search-3",
        ]


def test_reader_keeps_what_it_uses_open_during_a_switch(directory: Path) -> None:
    with opened(directory) as stores, stores.entities.use() as old, stores.engine.use() as index:
        rebuild(stores)
        assert generations(stores) == [2, 2]
        assert (old.count(), index.count()) == (3, 3)


def test_rebuild_without_a_projecting_process_switches_by_itself(directory: Path) -> None:
    with opened(directory, writable=False) as stores:
        for live in stores.read_models:
            arguments = live.definition, live.shelf, stores.log
            assert is_current(*arguments)
            generation = build(*arguments, lambda done, total: None)
            assert pending(live.definition, live.shelf) == generation
            assert switch(*arguments, generation) is False
            assert pending(live.definition, live.shelf) is None
        assert generations(stores) == [2, 2]
        assert len(found(stores)) == 3


def test_rollback_catches_up_before_it_switches(directory: Path) -> None:
    with opened(directory) as stores:
        with pytest.raises(StoreUnavailable, match="no previous generation of entities"):
            propose_previous(stores.entities.definition, stores.entities.shelf)
        rebuild(stores)
        create(stores, "d")
        step(stores)
        now = listed(stores), found(stores)
        for live in stores.read_models:
            propose_previous(live.definition, live.shelf)
        step(stores)
        assert generations(stores) == [1, 1]
        assert (listed(stores), found(stores)) == now


def test_writes_during_a_rebuild_are_in_the_new_generation(directory: Path) -> None:
    with opened(directory) as stores:
        written = iter("defgh")

        def write(done: int, total: int) -> None:
            create(stores, next(written))
            for keeper in stores.keepers:
                keeper.step()

        for live in stores.read_models:
            build(live.definition, live.shelf, stores.log, write)
            create(stores, next(written))
        step(stores)
        assert generations(stores) == [2, 2]
        assert len(found(stores)) == 7
        assert listed(stores).count(b'"name":') == 7


def test_other_code_refuses_and_builds_anew(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "VERSION", rows.VERSION + 1)
    with opened(directory, writable=False) as reader:
        with pytest.raises(StoreUnavailable, match="entities was built by other code"):
            listed(reader)
        assert not is_current(reader.entities.definition, reader.entities.shelf, reader.log)
        with opened(directory) as stores:
            with pytest.raises(
                StoreUnavailable, match=r"being built .*: it was built by other code"
            ):
                listed(reader)
            step(stores)
            assert generations(reader) == [2, 1]
            assert listed(reader).count(b'"name":') == 3


def test_proposal_of_other_code_is_turned_down(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(directory) as stores:
        live = stores.entities
        with monkeypatch.context() as patched:
            patched.setattr(rows, "VERSION", rows.VERSION + 1)
            proposed = build(live.definition, live.shelf, stores.log, lambda done, total: None)
        step(stores)
        assert live.generation().number == 1
        with pytest.raises(StoreUnavailable, match="was refused: it was built by other code"):
            switch(live.definition, live.shelf, stores.log, proposed)


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
    kept = [path for path in index if path.is_file() and path.name != "LOCK"]
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
            models: list[Live[Any]] = stores.read_models
            with pytest.raises(StoreUnavailable, match="is being built from the log"):
                models[number > 0].generation()
            step(stores)
            assert generations(stores) == ([2, 1] if number == 0 else [1, 2])
            assert len(found(stores)) == 3
            assert listed(stores).count(b'"name":') == 3


def test_damage_of_a_large_file_is_noticed_while_it_is_served(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper_module, "CHECK_AT_START_BYTES", 0)
    path = directory / "entities-1.db"
    path.write_bytes(path.read_bytes().replace(b'"serviceType":"Mysql"', b'"serviceType":"MySQL"'))
    with opened(directory) as stores:
        keeper: Keeper[Any] = stores.keepers[0]
        assert keeper._checker is not None
        keeper._checker.join()
        step(stores)
        assert generations(stores) == [2, 1]
        assert b"MySQL" not in listed(stores)


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


def test_interrupted_load_of_the_search_index_goes_on_where_it_ended(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_load, "DOCUMENTS_PER_COMMIT", 1)
    seen: list[list[str]] = []
    fold_documents = search_load._documents

    def watched(log: Any, ids: list[str], upto: int) -> Any:
        seen.append(ids)
        return fold_documents(log, ids, upto)

    def stop(done: int, total: int) -> None:
        if done == 2:
            raise StoreUnavailable("stopped")

    monkeypatch.setattr(search_load, "_documents", watched)
    with opened(directory) as stores:
        arguments = stores.engine.definition, stores.engine.shelf, stores.log
        with pytest.raises(StoreUnavailable, match="stopped"):
            build(*arguments, stop)
        step(stores)
        assert generations(stores) == [1, 1]
        create(stores, "d")
        assert len(seen) == 2
        assert build(*arguments, lambda done, total: None).number == 2
        assert len(seen) == 4  # "c" of the three that were there, and "d", which it left out
        step(stores)
        assert generations(stores) == [1, 2]
        assert len(found(stores)) == 4


@pytest.mark.parametrize("part", [2, 1000])
def test_rows_made_in_processes_are_those_made_here(
    directory: Path, monkeypatch: pytest.MonkeyPatch, part: int
) -> None:
    with opened(directory) as stores:
        create(stores, *[f"s{n}" for n in range(20)])
        step(stores)
        with stores.entities.use() as entities:
            kept = entities.digests()
        monkeypatch.setattr(row_makers, "PROCESSES_FROM", 0)
        monkeypatch.setattr(row_makers, "PART", part)
        rebuild(stores)
        assert generations(stores) == [2, 2]
        with stores.entities.use() as entities:
            assert entities.digests() == kept
    assert multiprocessing.active_children() == []


def test_half_built_generation_is_removed_by_the_next_building(directory: Path) -> None:
    def stop(done: int, total: int) -> None:
        raise StoreUnavailable("stopped")

    with opened(directory) as stores:
        arguments = stores.entities.definition, stores.entities.shelf, stores.log
        with pytest.raises(StoreUnavailable, match="stopped"):
            build(*arguments, stop)
        assert "entities-2.db" in files(directory)
        assert build(*arguments, lambda done, total: None).number == 3
        step(stores)
        assert generations(stores) == [3, 1]
        assert "entities-2.db" not in files(directory)


def test_second_builder_is_refused(directory: Path) -> None:
    with opened(directory) as stores:
        arguments = stores.entities.definition, stores.entities.shelf, stores.log
        with (
            stores.entities.shelf.building(),
            pytest.raises(StoreUnavailable, match="another process is building"),
        ):
            build(*arguments, lambda done, total: None)


def test_proposal_that_was_not_taken_up_is_taken_up_at_the_next_start(directory: Path) -> None:
    with opened(directory) as stores:
        build(
            stores.entities.definition, stores.entities.shelf, stores.log, lambda done, total: None
        )
    with opened(directory) as stores:
        create(stores, "d")
        step(stores)
        assert generations(stores) == [2, 1]
        assert listed(stores).count(b'"name":') == 4


def test_proposal_that_is_missing_is_turned_down(directory: Path) -> None:
    with opened(directory) as stores:
        generation = build(
            stores.entities.definition, stores.entities.shelf, stores.log, lambda done, total: None
        )
        (directory / "entities-2.db").unlink()
        step(stores)
        proposal = stores.entities.shelf.proposal()
        assert proposal == Proposal(generation, ready=True, refused="entities-2.db is missing")
        assert generations(stores) == [1, 1]


FAULTS = ["os.replace", "os.fsync", "os.open", "pathlib.Path.unlink", "shutil.rmtree"]


@pytest.mark.parametrize("fault", FAULTS)
def test_rebuild_that_fails_at_any_call_leaves_what_was_there_and_can_be_run_again(
    directory: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    with opened(directory) as stores:
        rebuild(stores)  # so that there is a previous generation to remove
        expected = listed(stores), found(stores)
        for number in range(200):
            calls = failing(monkeypatch, fault, number)
            # A fault in what is best removed, but may stay, is not told.
            with suppress(StoreUnavailable):
                rebuild(stores)
            monkeypatch.undo()
            assert (listed(stores), found(stores)) == expected
            step(stores)
            assert (listed(stores), found(stores)) == expected
            if calls[0] <= number:
                break
        assert number > 0
        rebuild(stores)
        assert (listed(stores), found(stores)) == expected


def failing(monkeypatch: pytest.MonkeyPatch, fault: str, number: int) -> list[int]:
    """Have the call of this number fail; returns a list with the number of calls."""
    module, name = fault.rsplit(".", 1)
    owner: Any = {"os": os, "shutil": shutil, "pathlib.Path": Path}[module]
    real = getattr(owner, name)
    calls = [0]

    def call(*args: Any, **options: Any) -> Any:
        calls[0] += 1
        if calls[0] == number + 1:
            raise OSError(28, "No space left on device")
        return real(*args, **options)

    monkeypatch.setattr(owner, name, call)
    return calls


_KILLED = """
import os, pathlib, shutil, sys
from projections.stores import open_stores
from tests.projections.test_generations import rebuild
fault, number = sys.argv[2], int(sys.argv[3])
module, name = fault.rsplit(".", 1)
owner = {"os": os, "shutil": shutil, "pathlib.Path": pathlib.Path}[module]
real = getattr(owner, name)
def call(*args, **options):
    global number
    number -= 1
    if number < 0:
        os._exit(9)
    return real(*args, **options)
stores = open_stores(pathlib.Path(sys.argv[1]))
setattr(owner, name, call)
rebuild(stores)
stores.close()
"""


@pytest.mark.parametrize("fault", ["os.replace", "os.fsync", "pathlib.Path.unlink"])
def test_rebuild_that_is_killed_at_a_call_leaves_whole_generations(
    directory: Path, fault: str
) -> None:
    with opened(directory) as stores:
        expected = listed(stores), found(stores)
    root = Path(__file__).parents[2]
    for number in (0, 1, 2, 3, 5, 8, 13):
        command = [sys.executable, "-W", "ignore", "-c", _KILLED, str(directory), fault]
        ended = subprocess.run(
            [*command, str(number)],
            cwd=root,
            env={**os.environ, "PYTHONPATH": str(root)},
            capture_output=True,
            check=False,
        )
        assert ended.returncode in (0, 9), ended.stderr
        with opened(directory) as stores:
            assert (listed(stores), found(stores)) == expected
            rebuild(stores)
            assert (listed(stores), found(stores)) == expected


def test_read_models_from_before_there_were_generations_are_removed(directory: Path) -> None:
    (directory / "entities.db").write_text("old")
    (directory / "search").mkdir()
    (directory / "search" / "manifest.json").write_text("old")
    with opened(directory):
        pass
    assert {"entities.db", "search"} & set(files(directory)) == set()


def test_proposal_is_tried_again_when_its_files_cannot_be_opened_yet(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise StoreUnavailable("disk full")

    with opened(directory) as stores:
        build(
            stores.entities.definition, stores.entities.shelf, stores.log, lambda done, total: None
        )
        with monkeypatch.context() as patched:
            patched.setattr(Keeper, "_open", full)
            with pytest.raises(StoreUnavailable, match="disk full"):
                stores.keepers[0].step()
        step(stores)
        assert generations(stores) == [2, 1]


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
