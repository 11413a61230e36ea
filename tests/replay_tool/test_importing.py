"""Targets of an import: what a refused import takes away again, and what it must leave."""

from pathlib import Path

import pytest

from domain.errors import StoreUnavailable
from projections.feeding.daemon import ProjectorLock
from replay_tool.transfer import open_import


class Refused(Exception):
    """Error for input that turns out to be wrong."""


def refuse_import(data: Path) -> None:
    with pytest.raises(Refused), open_import(data, None):
        raise Refused


def test_lock_that_another_process_takes_as_an_import_ends_is_held_by_it_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, release = ProjectorLock(tmp_path), ProjectorLock.__exit__

    def release_to_the_other(lock: ProjectorLock, *raised: object) -> None:
        release(lock, *raised)
        other.__enter__()

    with monkeypatch.context() as patched:
        patched.setattr(ProjectorLock, "__exit__", release_to_the_other)
        refuse_import(tmp_path)

    with pytest.raises(StoreUnavailable, match="a server or command already uses"):
        ProjectorLock(tmp_path).__enter__()
    release(other)
    with ProjectorLock(tmp_path):
        pass


def test_refused_import_leaves_its_lock_and_no_log(tmp_path: Path) -> None:
    data = tmp_path / "new" / "data"
    refuse_import(data)
    assert [path.name for path in data.iterdir()] == ["projectors.lock"]
    with open_import(data, None) as log:
        assert log.head() == 0
    assert sorted(path.name for path in data.iterdir()) == ["events.db", "projectors.lock"]


def test_import_that_gets_no_lock_makes_no_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise StoreUnavailable("the projectors' lock cannot be made: disk full")

    monkeypatch.setattr(ProjectorLock, "__enter__", fail)
    with (
        pytest.raises(StoreUnavailable, match="disk full"),
        open_import(tmp_path / "a" / "b", None),
    ):
        pass
    assert [*tmp_path.iterdir()] == []
