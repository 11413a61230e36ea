"""A catalog in a database that hosts share, and what can happen to it.

- crash: all sessions end, and what nobody waited for is lost; the server goes on by itself;
- restart, stop: the server is stopped in order, or fails with its machine, and starts;
- older copy: the files of the server are replaced by a copy that was made before;
- failover to a standby that was synchronous, so that nothing acknowledged may be lost, or to one
  that was cut off before;
- cut: the sessions of a host end; kill: the host ends; pause: it goes on only after a while.
"""

import json
import random
from collections.abc import Callable, Sequence

from benchmarks.histories.history import Fault, History, kill, pause
from benchmarks.histories.hosts import Feeder
from benchmarks.histories.postgres_site import PostgresSite
from benchmarks.histories.record import Claimed, Former, Json, Row
from benchmarks.histories.scheduling import COMMITTED
from benchmarks.histories.tables import viewed
from domain.event_store.opening import open_event_log
from domain.event_store.port import EventStore
from projections.wiring.shared_entities import SharedEntities

_LEADER = "catalog leader "
"""Beginning of the name of each session by which a read model is fed."""


class PostgresRig:
    """A schema for one history, on a server that histories share."""

    feeder_weight = 2

    def __init__(self, site: PostgresSite, schema: str, rng: random.Random) -> None:
        self._site = site
        # Feeding takes many statements, beside which those of clients meet each other less often.
        self.is_fed = rng.random() < 0.5
        self._schema = schema

    def open_log(self, host: str) -> EventStore:
        return open_event_log(self._site.url(self._schema, host))

    def drop_log(self, log: EventStore) -> None:
        log.close()

    def feeder(self, host: str, log: EventStore) -> Feeder | None:
        if not self.is_fed:
            return None
        return _Sharing(SharedEntities(self._site.url(self._schema, host)), log)

    def view(self) -> tuple[int, dict[str, Json], dict[tuple[str, bool], int]] | None:
        shelves = f"{self._schema}_read_models.shelves"
        with self._site.server.connect() as connection, connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            ((there,),) = connection.execute(f"SELECT to_regclass('{shelves}')".encode())
            if there is None:
                return None
            generations = f"SELECT code, live FROM {shelves} WHERE name = 'entities'"
            live = connection.execute(generations.encode()).fetchone()
            if live is None or live[1] is None:
                return None
            model = f"{self._schema}_entities_{live[0][:8]}_{live[1]}"
            checkpoint, entities, totals = (
                connection.execute(statement.encode()).fetchall()
                for statement in (
                    f"SELECT position FROM {model}.checkpoint",
                    "SELECT id, kind, name, fqn, deleted, position, core, optional"
                    f" FROM {model}.entities",
                    f"SELECT kind, deleted, sum(n) FROM {model}.counters"
                    " WHERE scope = '' GROUP BY 1, 2",
                )
            )
        return viewed(checkpoint, entities, totals)

    def rows(self) -> list[Row]:
        found = self._site.ask(
            "SELECT position, entity_id, stream_version, type, payload"
            f" FROM {self._schema}.events ORDER BY position"
        )
        return [(*row[:4], json.loads(row[4])) for row in found]

    def claims(self) -> list[Claimed]:
        found = self._site.ask(f"SELECT kind, fqn, id, deleted FROM {self._schema}.claims")
        return [(kind, fqn, entity_id, bool(deleted)) for kind, fqn, entity_id, deleted in found]

    def former_names(self) -> list[Former]:
        return self._site.ask(f"SELECT kind, fqn, id FROM {self._schema}.former_names")

    def plan(self, rng: random.Random) -> Sequence[Fault]:
        site = self._site
        choices: dict[str, tuple[int, list[Fault]]] = {
            "crash": (6, [Fault("crash", self._crash, awaits_commit=True)]),
            "stop": (2, [Fault("stop", self._strike(site.stop_at_once), awaits_commit=True)]),
            "restart": (1, [Fault("restart", self._strike(site.restart))]),
            "older copy": (
                3,
                [
                    Fault("copy", self._strike(site.keep)),
                    Fault("older copy", self._lossy(site.put_back)),
                ],
            ),
            "failover": (1, [Fault("failover", self._strike(site.fail_over), awaits_commit=True)]),
            "lossy failover": (
                1,
                [
                    Fault("part", self._strike(site.part)),
                    Fault("failover", self._lossy(site.fail_over)),
                ],
            ),
            "cut": (3, [Fault("cut", self._cut)]),
            "kill": (3, [Fault("kill", kill)]),
            "pause": (3, [Fault("pause", pause)]),
        }
        weights = [weight for weight, _ in choices.values()]
        names = dict.fromkeys(rng.choices([*choices], weights, k=rng.randrange(1, 4)))
        if "failover" in names or "lossy failover" in names:
            # There is one standby, and what is put back is of the server that had it.
            is_lossy = "failover" not in names
            for other in ("older copy", "lossy failover"):
                if other in names and not (is_lossy and other == "lossy failover"):
                    del names[other]
            site.add_standby(is_synchronous=not is_lossy)
        return [fault for name in names for fault in choices[name][1]]

    def close(self) -> None:
        """Take the schemas of the history away."""
        statement = (
            "SELECT nspname::text FROM pg_namespace"
            f" WHERE nspname = '{self._schema}' OR starts_with(nspname, '{self._schema}_')"
        )
        names = [name for (name,) in self._site.ask(statement)]
        self._site.server.run(*(f"DROP SCHEMA {name} CASCADE" for name in names))

    def _strike(self, happen: Callable[[], None]) -> Callable[[History, random.Random], str]:
        def strike(history: History, rng: random.Random) -> str:
            before = self._head()
            happen()
            return f"from {before} to {self._head()}"

        return strike

    def _lossy(self, happen: Callable[[], None]) -> Callable[[History, random.Random], str]:
        strike = self._strike(happen)

        def lose(history: History, rng: random.Random) -> str:
            said = strike(history, rng)
            history.lost(self._head())
            return said

        return lose

    def _crash(self, history: History, rng: random.Random) -> str:
        """The server crashes, and with it now and then the hosts that wait for its disk."""
        told = self._strike(self._site.crash)(history, rng)
        waiting = {actor.host for actor in history.schedule.actors if actor.is_at(COMMITTED)}
        for name in sorted(waiting) if rng.random() < 0.7 else ():
            history.kill(name)
            history.start(name)
            told += f", with {name}"
        return told

    def _cut(self, history: History, rng: random.Random) -> str:
        name = rng.choice([*history.hosts])
        leaders = f" OR starts_with(application_name, '{_LEADER}')" if rng.random() < 0.5 else ""
        self._site.ask(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            f" WHERE application_name = '{name}'{leaders}"
        )
        return name + (", and who leads" if leaders else "")

    def _head(self) -> int:
        return max((row[0] for row in self.rows()), default=0)


class _Sharing:
    """Actor that feeds the read model on a host while that host leads."""

    def __init__(self, shared: SharedEntities, log: EventStore) -> None:
        self._shared = shared
        self._supervisor = shared.supervisor(log)
        self._is_open = False
        self.name = self._supervisor.name

    def step(self) -> int:
        if not self._is_open:
            self._supervisor.open()
            self._is_open = True
        return self._supervisor.step()

    def close(self) -> None:
        self._supervisor.close()
        self._shared.close()

    def drop(self) -> None:
        self._shared.close()
