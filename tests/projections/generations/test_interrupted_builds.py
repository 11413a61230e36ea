"""Building that is interrupted, fails or is killed at any call: it can be done again."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from benchmarks.direct_catalog import DirectCatalog
from domain.errors import StoreUnavailable
from domain.kinds.registry import KINDS
from projections.entities import bulk_folding
from projections.entities.folding_process import FoldedPart
from projections.entities.replaced_states import sorted_steps
from projections.feeding.port import Damaged
from projections.generations.building import build
from projections.search import bulk_build as search_load
from projections.search.index.format.storage import Directory
from tests.depth import first_alone
from tests.projections.read_models import (
    ME,
    create,
    files,
    found,
    generations,
    listed,
    opened,
    rebuild,
    step,
)


def test_interrupted_load_of_the_search_index_goes_on_where_it_ended(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_load, "load", partial(search_load.load, most_states=1))
    seen: list[int] = []
    """Number of entities that were looked at when the load said so."""

    def stop(done: int, total: int) -> None:
        seen.append(done)
        if done == 2:
            raise StoreUnavailable("stopped")

    with opened(directory) as stores:
        arguments = stores.engine.definition, stores.log
        with pytest.raises(StoreUnavailable, match="stopped"):
            build(*arguments, stop)
        step(stores)
        assert generations(stores) == [1, 1]
        create(stores, "d")
        assert seen == [1, 2]
        seen.clear()
        assert build(*arguments, lambda done, total: seen.append(done)).generation.number == 2
        assert seen == [3, 4]  # "c", and "d", which came after the load began and is left out
        step(stores)
        assert generations(stores) == [1, 2]
        assert len(found(stores)) == 4


def test_interrupted_load_that_left_a_damaged_index_begins_anew(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_load, "load", partial(search_load.load, most_states=1))
    monkeypatch.setattr(Directory, "summed_at_once", 0)

    def stop(done: int, total: int) -> None:
        if done == 2:
            raise StoreUnavailable("stopped")

    with opened(directory) as stores:
        arguments = stores.engine.definition, stores.log
        with pytest.raises(StoreUnavailable, match="stopped"):
            build(*arguments, stop)
        damaged = next((directory / "search-2").glob("*.arrays"))
        damaged.write_bytes(damaged.read_bytes().replace(b"mysql", b"mYsql"))
        assert build(*arguments, lambda done, total: None).generation.number == 2
        step(stores)
        assert generations(stores) == [1, 2]
        assert len(found(stores)) == 3


def itself(part: FoldedPart) -> FoldedPart:
    return part


def rows_of(parts: list[FoldedPart]) -> Iterator[str]:
    """What parts have beside entities, whatever parts they came in."""
    for part in parts:
        for name in ("listed", "replaced", "ended"):
            yield from (f"{name} {row}" for row in getattr(part, name))
        yield from (f"added {step}" for step in sorted_steps(part.added))


@pytest.mark.parametrize("size", [2, 1000])
def test_rows_made_in_processes_are_those_made_here(
    directory: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    started: list[subprocess.Popen[bytes]] = []

    def start(*command: Any, **options: Any) -> subprocess.Popen[bytes]:
        started.append(Popen(*command, **options))
        return started[-1]

    Popen = subprocess.Popen
    monkeypatch.setattr(bulk_folding.subprocess, "Popen", start)
    with opened(directory) as stores:
        create(stores, *[f"s{n}" for n in range(20)])
        changed = stores.log.claim("databaseService", "s3")
        assert changed is not None
        patch = [{"op": "add", "path": "/description", "value": "changed"}]
        DirectCatalog(stores.log).patch(KINDS[changed.kind], changed.id, patch, ME)

        def rows(**bounds: int) -> list[Any]:
            folded = bulk_folding.folded_parts(stores.log, itself, FoldedPart, **bounds)
            with folded as (_, parts):
                read = [*parts]
            return [[row for part in read for row in part.entities], sorted(rows_of(read))]

        here = rows()
        assert not started
        assert rows(size=size, processes_from=0) == here
        assert len(here[0]) == 23
        assert any(row.startswith("replaced") for row in here[1])
    assert started
    assert {process.returncode for process in started} == {0}


def test_half_built_generation_is_removed_by_the_next_building(directory: Path) -> None:
    def stop(done: int, total: int) -> None:
        raise StoreUnavailable("stopped")

    with opened(directory) as stores:
        arguments = stores.entities.definition, stores.log
        with pytest.raises(StoreUnavailable, match="stopped"):
            build(*arguments, stop)
        assert "entities-2.db" in files(directory)
        assert build(*arguments, lambda done, total: None).generation.number == 3
        step(stores)
        assert generations(stores) == [3, 1]
        assert "entities-2.db" not in files(directory)


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
from projections.wiring.stores import open_stores
from tests.projections.read_models import rebuild
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


@pytest.mark.parametrize("fault", first_alone("os.replace", "os.fsync", "pathlib.Path.unlink"))
@pytest.mark.parametrize("numbers", first_alone((1,), (0, 2, 3), (5, 8, 13)))
def test_rebuild_that_is_killed_at_a_call_leaves_whole_generations(
    directory: Path, fault: str, numbers: tuple[int, ...]
) -> None:
    with opened(directory) as stores:
        expected = listed(stores), found(stores)
    root = Path(__file__).parents[3]
    for number in numbers:
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


@pytest.mark.parametrize(
    "error",
    [
        StoreUnavailable("the database is away"),
        Damaged("the log does not have that position"),  # an older copy of it was put in place
    ],
)
def test_generation_that_cannot_be_read_to_be_proven_does_not_differ(
    directory: Path, error: StoreUnavailable
) -> None:
    """A projector that is told of a difference stops; this one may try again."""

    @contextmanager
    def lost(model: Any, log: Any) -> Iterator[Any]:
        raise error
        yield

    with opened(directory) as stores:
        definition = replace(stores.entities.definition, source=lost)
        with pytest.raises(StoreUnavailable, match=error.message):
            build(definition, stores.log, lambda done, total: None)
