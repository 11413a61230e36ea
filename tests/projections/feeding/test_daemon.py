"""Projectors in threads: they follow the log, retry what may pass, stop at what may not."""

import errno
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from benchmarks.direct_catalog import DirectCatalog
from domain.errors import StoreUnavailable
from domain.event_store.appends import prepared
from domain.event_store.entity_reads import RecordedEvent
from domain.event_store.opening import open_event_log
from domain.event_store.writes import StoredAppend
from domain.kinds.registry import KINDS
from projections.feeding.daemon import (
    Daemon,
    ProjectorLock,
    ProjectorState,
    State,
    is_projected,
    read_building,
    read_states,
)
from projections.feeding.port import Checkpoint, Damaged, Folded
from projections.feeding.projector import Projector
from tests.projections.conftest import Fixture
from tests.projections.read_models import ME
from tests.waiting import until


class Recording:
    """A projection in memory that fails as told."""

    name = "recording"

    def __init__(self, failures: list[Exception] | None = None) -> None:
        self.failures = failures or []
        self._changed = threading.Condition()
        self.position, self.fingerprint = 0, ""
        self.names: dict[str, str] = {}

    def checkpoint_and_fingerprint(self) -> tuple[int, str]:
        return self.position, self.fingerprint

    def begin(self, batch: Sequence[RecordedEvent]) -> None: ...

    def apply(
        self, entities: Mapping[str, Folded], position: int, fingerprint: str, *, after: Checkpoint
    ) -> None:
        with self._changed:
            self._changed.notify_all()
            if self.failures:
                raise self.failures.pop(0)
            self.names |= {key: folded.entity.name for key, folded in entities.items()}
            self.position, self.fingerprint = position, fingerprint

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition on this projection holds, at most 10 seconds."""
        with self._changed:
            assert self._changed.wait_for(condition, timeout=60)


def run(fixture: Fixture, projection: Recording) -> Daemon:
    daemon = Daemon(
        [Projector(projection, fixture.log, batch_size=2)], fixture.directory, pauses={}
    )
    daemon.start()
    return daemon


def test_daemon_follows_the_log_of_other_writers(catalog: Fixture) -> None:
    projection = Recording()
    daemon = run(catalog, projection)
    catalog.schema()
    projection.wait_for(lambda: projection.position == catalog.log.head())
    daemon.stop()

    assert list(projection.names.values()) == ["service", "database", "schema"]
    assert not [t for t in threading.enumerate() if t.name.startswith("projector")]


def test_daemon_retries_what_may_pass(catalog: Fixture) -> None:
    catalog.schema()
    projection = Recording([StoreUnavailable("disk full"), StoreUnavailable("disk full")])
    daemon = run(catalog, projection)
    projection.wait_for(lambda: projection.position == catalog.log.head())
    daemon.stop()

    assert read_states(catalog.directory)["recording"] == ProjectorState(State.RUNNING, None)


def test_daemon_retries_what_a_full_disk_does_not_take_wherever_the_error_is_raised(
    catalog: Fixture,
) -> None:
    catalog.schema()
    projection = Recording([OSError(errno.ENOSPC, "No space left on device")])
    daemon = run(catalog, projection)
    projection.wait_for(lambda: projection.position == catalog.log.head())
    daemon.stop()

    assert read_states(catalog.directory)["recording"] == ProjectorState(State.RUNNING, None)


def test_daemon_stops_a_projection_at_a_poison_event_and_says_so(catalog: Fixture) -> None:
    catalog.schema()
    projection = Recording([ValueError("poison")])
    daemon = run(catalog, projection)
    projection.wait_for(lambda: not projection.failures)
    daemon.stop()

    stopped = ProjectorState(State.STOPPED, "ValueError: poison")
    assert read_states(catalog.directory)["recording"] == stopped
    assert projection.position == 0


def test_lock_is_held_once_for_a_directory(tmp_path: Path) -> None:
    with ProjectorLock(tmp_path):
        assert is_projected(tmp_path)
        with pytest.raises(StoreUnavailable, match="a server or command already uses"):
            ProjectorLock(tmp_path).__enter__()

    assert not is_projected(tmp_path)


def test_lock_that_cannot_be_made_names_its_cause(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable) as refused:
        ProjectorLock(tmp_path / "missing").__enter__()

    assert isinstance(refused.value.__cause__, FileNotFoundError)


def test_daemon_goes_on_when_its_states_cannot_be_shared(
    catalog: Fixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    catalog.schema()
    projection = Recording([StoreUnavailable("disk full"), StoreUnavailable("disk full")])
    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", full)
        daemon = run(catalog, projection)
        projection.wait_for(lambda: projection.position == catalog.log.head())
        daemon.stop()

    assert read_states(catalog.directory) == {}


def test_projector_refuses_what_is_ahead_of_the_log(catalog: Fixture) -> None:
    catalog.schema()
    projection = Recording()
    projection.position, projection.fingerprint = 75, "other"
    projector = Projector(projection, catalog.log, batch_size=2)

    with pytest.raises(Damaged, match=r"position 75, which the log \(head 3\) does not have"):
        projector.step()

    assert projection.names == {}


def test_projector_refuses_what_another_log_led_to(catalog: Fixture, tmp_path: Path) -> None:
    projection = Recording()
    other = open_event_log(tmp_path / "other.db")
    DirectCatalog(other).create(KINDS["databaseService"], {"name": "x", "serviceType": "Mysql"}, ME)
    Projector(projection, other, batch_size=2).step()
    other.close()
    catalog.schema()

    with pytest.raises(Damaged, match="another event stands at position 1"):
        Projector(projection, catalog.log, batch_size=2).step()


def test_states_of_a_directory_without_a_daemon_are_empty(tmp_path: Path) -> None:
    assert read_states(tmp_path) == {}


def test_daemon_tells_listeners_of_each_commit(catalog: Fixture) -> None:
    projection, told = Recording(), []
    daemon = Daemon([Projector(projection, catalog.log, batch_size=2)], catalog.directory)
    daemon.listen("recording", lambda: told.append(projection.position))
    daemon.listen("another", lambda: told.append(-1))
    catalog.schema()
    daemon.start()
    projection.wait_for(lambda: projection.position == catalog.log.head())
    daemon.stop()

    assert told == [2, 3]


class Watched(Projector):
    """A projector that says when it has looked at the log."""

    looked = False

    def step(self) -> int:
        applied = super().step()
        self.looked = True
        return applied


def test_daemon_applies_at_once_what_the_calling_thread_has_appended(catalog: Fixture) -> None:
    projection, told = Recording(), []
    projector = Watched(projection, catalog.log, batch_size=10)
    threads: list[int] = []
    handed: list[StoredAppend] = []

    def feed(stored: Sequence[StoredAppend]) -> int:
        handed.extend(stored)
        threads.append(threading.get_ident())
        return projector.step()

    # The thread of the projection looks at the log once, and then for a minute no more.
    daemon = Daemon([projector], catalog.directory, at_once={"recording": feed}, poll_seconds=60)
    daemon.listen("recording", lambda: told.append(projection.position))
    daemon.start()
    until(lambda: projector.looked)
    catalog.schema()
    stored = StoredAppend(prepared([]), catalog.log.head())
    daemon.appended([stored])
    assert handed == [stored]
    assert (threads, told) == ([threading.get_ident()], [catalog.log.head()])
    assert projection.position == catalog.log.head()
    daemon.stop()
    daemon.appended()

    assert len(threads) == 1


def at_once(fixture: Fixture, projection: Recording, failures: list[Exception]) -> Daemon:
    """A daemon that was told of an append, which it could not apply at once."""

    def feed(_: Sequence[StoredAppend]) -> int:
        if failures:
            raise failures.pop()
        return 0

    projector = Projector(projection, fixture.log, batch_size=1)
    daemon = Daemon([projector], fixture.directory, at_once={"recording": feed}, poll_seconds=60)
    daemon.start()
    fixture.schema()
    number = len(failures)

    def was_told() -> bool:
        # Nothing is applied at once while the projection's own thread has a turn.
        daemon.appended()
        return len(failures) < number

    until(was_told)
    return daemon


def test_daemon_leaves_to_its_thread_what_cannot_be_applied_at_once(catalog: Fixture) -> None:
    projection = Recording()
    failures: list[Exception] = [StoreUnavailable("disk full")]
    daemon = at_once(catalog, projection, failures)
    # What comes now is applied after the failure, whatever was applied before it.
    catalog.table("orders")
    daemon.wake()
    projection.wait_for(lambda: projection.position == catalog.log.head())
    daemon.stop()

    assert failures == []
    assert read_states(catalog.directory)["recording"] == ProjectorState(State.RUNNING, None)


def test_daemon_stops_a_projection_at_what_failed_when_applied_at_once(catalog: Fixture) -> None:
    projection = Recording()
    failures: list[Exception] = [ValueError("never tried"), ValueError("poison")]
    daemon = at_once(catalog, projection, failures)
    until(lambda: read_states(catalog.directory)["recording"].state is State.STOPPED)
    daemon.appended()
    daemon.stop()

    stopped = ProjectorState(State.STOPPED, "ValueError: poison")
    assert read_states(catalog.directory)["recording"] == stopped
    assert len(failures) == 1


class Gate:
    """A projector whose first step ends when it may, in the way that it is told."""

    def __init__(self, name: str, failure: Exception | None = None) -> None:
        self.name = name
        self.failure = failure
        self.entered, self.open = threading.Event(), threading.Event()

    def step(self) -> int:
        self.entered.set()
        assert self.open.wait(60)
        failure, self.failure = self.failure, None
        if failure is not None:
            raise failure
        return 0


@pytest.mark.parametrize(
    "failure", [None, StoreUnavailable("disk full"), ValueError("poison")], ids=str
)
def test_projection_begins_after_the_first_work_of_another_however_that_ends(
    tmp_path: Path, failure: Exception | None
) -> None:
    first, second = Gate("first", failure), Gate("second")
    second.open.set()
    daemon = Daemon([second, first], tmp_path, after={"second": "first"})
    daemon.start()
    assert first.entered.wait(60)
    began_before = second.entered.is_set()
    first.open.set()

    assert second.entered.wait(60)
    daemon.stop()
    assert not began_before


def test_daemon_stops_while_a_projection_waits_for_another(tmp_path: Path) -> None:
    first, second = Gate("first"), Gate("second")
    daemon = Daemon([first, second], tmp_path, after={"second": "first"})
    daemon.start()
    assert first.entered.wait(60)
    threading.Thread(target=first.open.set).start()
    second.open.set()

    daemon.stop()

    assert not [t for t in threading.enumerate() if t.name.startswith("projector")]


def test_progress_of_a_building_is_shared_until_the_work_is_done(tmp_path: Path) -> None:
    gate = Gate("recording")
    daemon = Daemon([gate], tmp_path)
    with ProjectorLock(tmp_path):
        daemon.start()
        assert gate.entered.wait(60)
        daemon.progressed("recording", 41, 100)
        assert read_building(tmp_path, "recording") == ProjectorState(done=41, total=100)
        gate.open.set()
        until(lambda: read_building(tmp_path, "recording") == ProjectorState())
        daemon.stop()

    assert read_building(tmp_path, "recording") is None
    assert read_building(tmp_path, "unknown") is None
