"""A catalog in a data directory, and what can happen to it.

All hosts are in one process, so that SQLite's own commits are never cut in the middle: a host is
killed between two calls of the log. That is less than a power loss does to a disk. What is there:

- kill: the connections of a host are left as they are, and it is opened anew beside them;
- power loss: all hosts end, and begin again on a copy of the files without the shared memory, so
  that the write-ahead log is recovered; of the read model, which is not synced at each commit, it
  may be the beginning of its write-ahead log;
- older copy: all hosts are stopped, and a backup takes the place of the log;
- two projectors: another process writes to the same read model.
"""

import json
import random
import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from msgspec.structs import replace

from benchmarks.histories.history import Fault, History, kill, pause
from benchmarks.histories.hosts import Feeder
from benchmarks.histories.record import Claimed, Former, Json, Row
from benchmarks.histories.tables import viewed
from domain.errors import StoreUnavailable
from domain.event_store.opening import open_event_log
from domain.event_store.port import EventStore
from projections.entities.projection import EntityProjection
from projections.entities.sqlite.model import SqliteReadModel, open_read_model
from projections.feeding.projector import Projector
from projections.generations.supervision import GenerationSupervisor
from projections.wiring.local_read_models import entities_definition

_LOG = "events.db"
_POINTER = "entities.json"
_BATCHES = (1, 2, 5_000)


class SqliteRig:
    """A data directory for one history."""

    is_fed = True
    feeder_weight = 5

    def __init__(self, place: Path, rng: random.Random) -> None:
        """Everything is kept in the directory `place`, which the caller removes."""
        self._place = place
        self._directories = 0
        self.directory = self._new_directory()
        self._rng = rng
        self._has_two = rng.random() < 0.4
        self._projecting: str | None = None
        self._abandoned: list[EventStore | GenerationSupervisor[SqliteReadModel]] = []
        self._backup = place / "backup.db"
        self._shelved = place / "shelved"

    def close(self) -> None:
        """Close what killed hosts have left open."""
        for each in self._abandoned:
            each.close()

    def open_log(self, host: str) -> EventStore:
        return open_event_log(self.directory / _LOG)

    def drop_log(self, log: EventStore) -> None:
        self._abandoned.append(log)

    def feeder(self, host: str, log: EventStore) -> Feeder | None:
        if self._projecting in (None, host):
            self._projecting = host
            return _Leading(self, host, log, self._rng.choice(_BATCHES))
        return _Beside(self, log, self._rng.choice(_BATCHES)) if self._has_two else None

    def live_generation(self) -> Path | None:
        """The file that the pointer names."""
        pointer = self.directory / _POINTER
        live = json.loads(pointer.read_text()).get("live") if pointer.exists() else None
        return None if live is None else self.directory / f"entities-{live['number']}.db"

    def view(self) -> tuple[int, dict[str, Json], dict[tuple[str, bool], int]] | None:
        path = self.live_generation()
        if path is None or not path.exists():
            return None
        with closing(_reading(path)) as connection:
            connection.execute("BEGIN")
            checkpoint = connection.execute("SELECT position FROM checkpoint").fetchall()
            entities = connection.execute(
                "SELECT id, kind, name, fqn, deleted, position, core, optional FROM entities"
            ).fetchall()
            totals = connection.execute(
                "SELECT kind, deleted, sum(n) FROM counters WHERE scope = '' GROUP BY 1, 2"
            ).fetchall()
        return viewed(checkpoint, entities, totals)

    def rows(self) -> list[Row]:
        with closing(_reading(self.directory / _LOG)) as connection:
            return [
                (*row[:4], json.loads(row[4]))
                for row in connection.execute(
                    "SELECT rowid, originator_id, originator_version, topic, state"
                    " FROM stored_events ORDER BY rowid"
                )
            ]

    def claims(self) -> list[Claimed]:
        with closing(_reading(self.directory / _LOG)) as connection:
            found = connection.execute("SELECT kind, fqn, id, deleted FROM claims").fetchall()
        return [(kind, fqn, entity_id, bool(deleted)) for kind, fqn, entity_id, deleted in found]

    def former_names(self) -> list[Former]:
        with closing(_reading(self.directory / _LOG)) as connection:
            return connection.execute("SELECT kind, fqn, id FROM former_names").fetchall()

    def plan(self, rng: random.Random) -> Sequence[Fault]:
        choices = {
            "kill": [Fault("kill", kill)],
            "pause": [Fault("pause", pause)],
            "power loss": [Fault("copy", self._shelve), Fault("power loss", self._lose_power)],
            "older copy": [Fault("backup", self._back_up), Fault("older copy", self._put_back)],
        }
        names = rng.choices([*choices], (3, 3, 2, 2), k=rng.randrange(4))
        # The two strikes of one fault come one after the other, and no fault comes twice.
        return [fault for name in dict.fromkeys(names) for fault in choices[name]]

    def release(self, host: str, supervisor: GenerationSupervisor[SqliteReadModel] | None) -> None:
        """Let another host project; `supervisor` is what a killed one has left."""
        if self._projecting == host:
            self._projecting = None
        if supervisor is not None:
            self._abandoned.append(supervisor)

    def _back_up(self, history: History, rng: random.Random) -> str:
        with closing(_reading(self.directory / _LOG)) as source:
            target = sqlite3.connect(self._backup)
            with closing(target):
                source.backup(target)
        return f"at {self._head()}"

    def _put_back(self, history: History, rng: random.Random) -> str:
        names = history.stop_all()
        for suffix in ("", "-wal", "-shm"):
            (self.directory / f"{_LOG}{suffix}").unlink(missing_ok=True)
        shutil.copyfile(self._backup, self.directory / _LOG)
        head = self._head()
        history.lost(head)
        for name in names:
            history.start(name)
        return f"of {head}"

    def _shelve(self, history: History, rng: random.Random) -> str:
        """Keep the files of the read model as they are now."""
        self._shelved.mkdir()
        for path in self.directory.glob("entities-*.db*"):
            if not path.name.endswith("-shm"):
                shutil.copyfile(path, self._shelved / path.name)
        return "of the read model"

    def _lose_power(self, history: History, rng: random.Random) -> str:
        names = [*history.hosts]
        for name in names:
            history.kill(name)
        left, self.directory = self.directory, self._new_directory()
        older = rng.random() < 0.5
        for path in left.iterdir():
            if not path.name.endswith("-shm"):
                shelved = self._shelved / path.name
                shutil.copyfile(
                    shelved if older and shelved.exists() else path, self.directory / path.name
                )
        rng.shuffle(names)
        for name in names:
            history.start(name)
        return f"at {self._head()}" + (", with an older read model" if older else "")

    def _new_directory(self) -> Path:
        self._directories += 1
        directory = self._place / f"data{self._directories}"
        directory.mkdir()
        return directory

    def _head(self) -> int:
        return max((row[0] for row in self.rows()), default=0)


class _Leading:
    """The supervisor of the process that projects the directory."""

    def __init__(self, rig: SqliteRig, host: str, log: EventStore, batch_size: int) -> None:
        definition = replace(entities_definition(rig.directory), batch_size=batch_size)
        self._rig = rig
        self._host = host
        self._supervisor = GenerationSupervisor(definition, log)
        self._is_open = False
        self.name = definition.name

    def step(self) -> int:
        if not self._is_open:
            self._supervisor.open()
            self._is_open = True
        return self._supervisor.step()

    def close(self) -> None:
        self._supervisor.close()
        self._rig.release(self._host, None)

    def drop(self) -> None:
        self._rig.release(self._host, self._supervisor)


class _Beside:
    """The projector of a process that should not be there: it feeds the live generation too."""

    name = EntityProjection.name

    def __init__(self, rig: SqliteRig, log: EventStore, batch_size: int) -> None:
        self._rig = rig
        self._log = log
        self._batch_size = batch_size
        self._path: Path | None = None
        self._model: SqliteReadModel | None = None
        self._projector: Projector | None = None

    def step(self) -> int:
        path = self._rig.live_generation()
        if path is None or not path.exists():
            return 0
        if path != self._path:
            self.close()
            self._model = open_read_model(path)
            self._path = path
            self._projector = Projector(
                EntityProjection(self._model), self._log, batch_size=self._batch_size
            )
        if self._projector is None:
            raise StoreUnavailable("there is no read model yet")
        return self._projector.step()

    def close(self) -> None:
        if self._model is not None:
            self._model.close()
        self._model = self._path = self._projector = None

    drop = close


def _reading(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, isolation_level=None)
