"""Generations: built beside the live one, switched to as a whole."""

import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from domain.errors import StoreUnavailable
from domain.event_store.writes import Append, StoredAppend
from projections.feeding.daemon import Daemon, ProjectorLock
from projections.generations.building import Differs, build
from projections.generations.folder import FolderLeadership
from projections.generations.port import ProposedGeneration
from projections.generations.switching import pending, propose_previous, switch
from projections.wiring.stores import Stores
from tests.projections.read_models import (
    create,
    files,
    found,
    generations,
    listed,
    opened,
    other_code,
    rebuild,
    step,
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


def test_generation_that_is_missing_is_served_by_the_step_that_builds_it(tmp_path: Path) -> None:
    with opened(tmp_path) as stores:
        create(stores, "a")
    for path in tmp_path.iterdir():
        if not path.name.startswith("events.db"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    with opened(tmp_path) as stores:
        for supervisor in stores.supervisors:
            # The daemon pauses after each step that has done anything.
            assert supervisor.step() == 1
        assert (generations(stores), len(found(stores))) == ([1, 1], 1)


def test_building_tells_how_far_it_is(tmp_path: Path) -> None:
    with opened(tmp_path) as stores:
        create(stores, "a")
    for path in tmp_path.iterdir():
        if not path.name.startswith("events.db"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    told: dict[str, list[tuple[int, int]]] = {"entities": [], "search": []}
    with opened(tmp_path) as stores:
        for supervisor in stores.supervisors:
            of_one = told[supervisor.name]
            supervisor.on_progress = lambda done, total, to=of_one: to.append((done, total))
            supervisor.step()

    assert {name: steps[-1] for name, steps in told.items()} == {
        "entities": (1, 1),
        "search": (1, 1),
    }


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
            arguments = live.definition, stores.log
            generation = build(*arguments, lambda done, total: None).generation
            assert pending(live.definition) == generation
            assert switch(*arguments, generation, directory, FolderLeadership(directory)) is False
            assert pending(live.definition) is None
        assert generations(stores) == [2, 2]
        assert len(found(stores)) == 3


def test_rollback_catches_up_before_it_switches(directory: Path) -> None:
    with opened(directory) as stores:
        with pytest.raises(StoreUnavailable, match="no previous generation of entities"):
            propose_previous(stores.entities.definition, stores.log)
        rebuild(stores)
        create(stores, "d")
        step(stores)
        now = listed(stores), found(stores)
        for live in stores.read_models:
            propose_previous(live.definition, stores.log)
        step(stores)
        assert generations(stores) == [1, 1]
        assert (listed(stores), found(stores)) == now


def change_a_row(directory: Path, number: int) -> None:
    """Have a generation of the lists say what the log does not."""
    with closing(sqlite3.connect(directory / f"entities-{number}.db")) as file, file:
        changed = 'replace(CAST(core AS text), \'"name":"a"\', \'"name":"z"\')'
        file.execute(f"UPDATE entities SET core = CAST({changed} AS blob) WHERE name = 'a'")


def test_generation_that_differs_from_the_log_is_not_gone_back_to(directory: Path) -> None:
    with opened(directory) as stores:
        rebuild(stores)
    change_a_row(directory, 1)
    with opened(directory) as stores:
        with pytest.raises(Differs, match="generation 1 of entities differs from the log: "):
            propose_previous(stores.entities.definition, stores.log)
        step(stores)
        assert generations(stores) == [2, 2]


def test_switch_that_is_refused_is_no_switch(directory: Path) -> None:
    with opened(directory, writable=False) as stores:
        lists = stores.entities.definition
        built = build(lists, stores.log, lambda done, total: None).generation
        change_a_row(directory, built.number)
        with pytest.raises(StoreUnavailable, match="generation 2 of entities was refused"):
            switch(lists, stores.log, built, directory, FolderLeadership(directory))
        assert generations(stores) == [1, 1]


def test_writes_during_a_rebuild_are_in_the_new_generation(directory: Path) -> None:
    with opened(directory) as stores:
        written = iter("defgh")

        def write(done: int, total: int) -> None:
            create(stores, next(written))
            for supervisor in stores.supervisors:
                supervisor.step()

        for live in stores.read_models:
            build(live.definition, stores.log, write)
            create(stores, next(written))
        step(stores)
        assert generations(stores) == [2, 2]
        assert len(found(stores)) == 7
        assert listed(stores).count(b'"name":') == 7


def test_other_code_refuses_and_builds_anew(directory: Path) -> None:
    with other_code(), opened(directory, writable=False) as reader:
        with pytest.raises(StoreUnavailable, match="entities was built by other code"):
            listed(reader)
        with opened(directory) as stores:
            with pytest.raises(
                StoreUnavailable,
                match=r"not built yet \(it was built by other code\): a server",
            ):
                listed(reader)
            step(stores)
            assert generations(reader) == [2, 1]
            assert listed(reader).count(b'"name":') == 3


def test_proposal_of_other_code_is_turned_down(directory: Path) -> None:
    with opened(directory) as stores:
        live = stores.entities
        with other_code():
            built = build(live.definition, stores.log, lambda done, total: None)
        step(stores)
        assert live.generation().number == 1
        with pytest.raises(StoreUnavailable, match="was refused: it was built by other code"):
            switch(
                live.definition,
                stores.log,
                built.generation,
                directory,
                FolderLeadership(directory),
            )


def test_second_builder_is_refused(directory: Path) -> None:
    with opened(directory) as stores:
        arguments = stores.entities.definition, stores.log
        with (
            stores.entities.generations.building(),
            pytest.raises(StoreUnavailable, match="another process is building"),
        ):
            build(*arguments, lambda done, total: None)


def test_proposal_that_was_not_taken_up_is_taken_up_at_the_next_start(directory: Path) -> None:
    with opened(directory) as stores:
        build(
            stores.entities.definition,
            stores.log,
            lambda done, total: None,
        )
    with opened(directory) as stores:
        create(stores, "d")
        step(stores)
        assert generations(stores) == [2, 1]
        assert listed(stores).count(b'"name":') == 4


def test_proposal_that_is_missing_is_turned_down(directory: Path) -> None:
    with opened(directory) as stores:
        entities = stores.entities
        built = build(entities.definition, stores.log, lambda done, total: None)
        (directory / "entities-2.db").unlink()
        step(stores)
        proposal = stores.entities.generations.proposal()
        assert proposal == ProposedGeneration(
            built.generation, ready=True, refused="generation 2 is missing"
        )
        assert generations(stores) == [1, 1]


def test_read_models_from_before_there_were_generations_are_removed(directory: Path) -> None:
    (directory / "entities.db").write_text("old")
    (directory / "search").mkdir()
    (directory / "search" / "manifest.json").write_text("old")
    with opened(directory):
        pass
    assert {"entities.db", "search"} & set(files(directory)) == set()


def test_proposal_is_tried_again_when_its_files_cannot_be_opened_yet(directory: Path) -> None:
    with opened(directory) as stores:
        build(
            stores.entities.definition,
            stores.log,
            lambda done, total: None,
        )
        stamp = directory / "entities-2.db-stamp"
        aside = stamp.rename(directory / "aside")
        stamp.mkdir()
        with pytest.raises(StoreUnavailable, match=r"entities-2\.db cannot be read"):
            stores.supervisors[0].step()
        stamp.rmdir()
        aside.rename(stamp)
        step(stores)
        assert generations(stores) == [2, 1]


class Server:
    """Server whose daemon steps, as its next generation is proposed."""

    name = "entities"

    def __init__(self, outcome: Exception | None) -> None:
        self._outcome = outcome

    def step(self) -> int:
        if self._outcome is not None:
            raise self._outcome
        return 0


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (StoreUnavailable("the disk is full"), "reports that it is retrying: the disk is full."),
        (None, "reports that it is running. The generation stays proposed"),
        (ValueError("poison"), "has stopped projecting entities: ValueError: poison"),
    ],
    ids=["retries", "hangs", "stopped"],
)
def test_server_that_does_not_switch_is_waited_for_within_bounds(
    directory: Path, outcome: Exception | None, said: str
) -> None:
    daemon = Daemon([Server(outcome)], directory)
    with opened(directory, writable=False) as stores, ProjectorLock(directory):
        arguments = stores.entities.definition, stores.log
        generation = build(*arguments, lambda done, total: None).generation
        daemon.start()
        try:
            with pytest.raises(StoreUnavailable, match=said):
                switch(*arguments, generation, directory, FolderLeadership(directory), patience=0.5)
        finally:
            daemon.stop()
        # The proposal outlives the wait: it is taken up when somebody can.
        assert pending(stores.entities.definition) == generation
        assert stores.entities.generation().number == 1


def appends_of(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> list[StoredAppend]:
    """A list of the appends that the log stores from now on."""
    append_group, stored = stores.log.append_group, list[StoredAppend]()

    def recorded(appends: Sequence[Append]) -> list[Any]:
        results = append_group(appends)
        stored.extend(map(StoredAppend, appends, results))
        return results

    monkeypatch.setattr(stores.log, "append_group", recorded)
    return stored


def test_lists_are_fed_at_once_by_the_process_that_has_a_live_generation(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(directory) as stores:
        (feed,) = stores.fed_at_once.values()
        stored = appends_of(stores, monkeypatch)
        step(stores)
        create(stores, "d")
        before = stores.listed()
        assert feed([]) == 0
        assert feed(stored) == stores.log.head() - before > 0
        assert stores.listed() == stores.entities.checkpoint() == stores.log.head()
        assert feed(stored) == 0
        with opened(directory, writable=False) as reader:
            assert reader.fed_at_once == {}
            assert reader.listed() == stores.log.head()

    with other_code(), opened(directory) as stores:
        (feed,) = stores.fed_at_once.values()
        stored = appends_of(stores, monkeypatch)
        create(stores, "e")
        # There is one to build, which is not for those who write.
        assert stored
        assert feed(stored) == 0
        with pytest.raises(StoreUnavailable, match="not built yet"):
            stores.listed()
        step(stores)
        assert stores.listed() == stores.log.head()
