"""One history: hosts with their clients, turns and faults, all of it decided by a seed."""

import random
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import monotonic, sleep
from typing import Protocol

from benchmarks.histories.hosts import Clock, Feeder, Host, Readers, Rig
from benchmarks.histories.judging import Ending, judge
from benchmarks.histories.record import Claimed, Former, Loss, Record, Row, View
from benchmarks.histories.scheduling import Actor, Schedule, Strike
from benchmarks.histories.writers import Writer
from domain.errors import StoreUnavailable

_CATCH_UP_SECONDS = 20.0
"""Time that a read model may take, after the last fault, to come to the end of the log."""
_SHOWN = 400
"""Lines of the trace that a failing history shows."""


@dataclass
class Fault:
    """Something that can happen to hosts or to their database; `happen` says what it did."""

    name: str
    happen: "Callable[[History, random.Random], str]"
    awaits_commit: bool = False


class FaultyRig(Rig, Protocol):
    """A database for one history, with its faults and with a look into it from outside."""

    @property
    def is_fed(self) -> bool:
        """True if there is a read model in the history."""

    @property
    def feeder_weight(self) -> int:
        """Weight of the actor that feeds the read model, beside a client's 4 and a reader's 2."""

    def plan(self, rng: random.Random) -> Sequence[Fault]:
        """The faults of a history in their order."""

    def rows(self) -> list[Row]:
        """The events of the log, read without the catalog."""

    def claims(self) -> list[Claimed]:
        """The claims on names, read without the catalog."""

    def former_names(self) -> list[Former]:
        """The names that entities had before, read without the catalog."""


FIRST_WITH_RENAMES = 201
"""The first of the seeds of which every other one has clients that rename."""


@dataclass
class Result:
    """Faults of a history, and the way it came to them."""

    seed: int
    wrong: list[str]
    trace: list[str]

    def told(self) -> str:
        """The end of the history, and what is wrong with it."""
        return "\n".join([*self.trace[-_SHOWN:], "", *(f"WRONG: {line}" for line in self.wrong)])


class History:
    """The hosts of a history while it runs; faults act on it."""

    def __init__(self, seed: int, rig: FaultyRig, database: str) -> None:
        self._seed = f"{database} {seed}"
        self.rig = rig
        rng = self._rng("plan")
        self.record = Record()
        requests = rng.randrange(8, 30)
        faults = rig.plan(self._rng("faults"))
        moments = sorted(rng.randrange(requests // 5, requests - requests // 5) for _ in faults)
        happenings = self._rng("happenings")
        self.schedule = Schedule(
            self._rng("turns"),
            [
                Strike(
                    fault.name,
                    moment,
                    partial(fault.happen, self, happenings),
                    awaits_commit=fault.awaits_commit,
                )
                for fault, moment in zip(faults, moments, strict=True)
            ],
        )
        self._clock = Clock()
        self._readers = Readers(self.record, self.schedule, rig, self._is_writing)
        self.hosts: dict[str, Host] = {}
        self._lives = 0
        names = [f"host{n}" for n in range(1, rng.choice((1, 2, 2, 3)) + 1)]
        self._writers: dict[str, list[Writer]] = {name: [] for name in names}
        count = max(len(names), rng.randrange(1, 4))
        for n in range(count):
            name = f"writer{n}"
            writer = Writer(
                name,
                self._rng(name),
                1 + requests // count,
                self.record,
                self.schedule,
                renames=seed >= FIRST_WITH_RENAMES and seed % 2 == 1,
            )
            self._writers[names[n % len(names)]].append(writer)

    def run(self) -> list[str]:
        """Run to the end, and tell what is wrong with it."""
        try:
            for name in self._writers:
                self.start(name)
            self.schedule.run()
            self.record.broken += [
                f"{actor.name} ended: {_told(actor.error)}"
                for actor in self.schedule.actors
                if actor.error is not None
            ]
            view = self._caught_up() if self.rig.is_fed else None
            claims, former = self.rig.claims(), self.rig.former_names()
            return judge(self.record, Ending(self.rig.rows(), claims, former, view))
        finally:
            for name in [*self.hosts]:
                self.hosts.pop(name).drop()

    def start(self, name: str) -> None:
        """Start a host, whose clients go on with what they have left."""
        self._lives += 1
        rng = self._rng(f"{name} {self._lives}")
        host = self.hosts[name] = Host(name, self.rig, rng, self._clock)
        for writer in self._writers[name]:
            self._add(host, writer.name, partial(writer.write, host), 4, is_writer=True)
        self._add(host, "reader", partial(self._readers.read, host, rng), 2)
        if host.feeder is not None:
            self._add(host, "feeder", partial(self._readers.feed, host), self.rig.feeder_weight)

    def kill(self, name: str) -> None:
        """End a host as by a kill, wherever it is."""
        self.schedule.kill(name)
        self.hosts.pop(name).drop()

    def stop_all(self) -> list[str]:
        """End all hosts in order, but for the requests under way; tells which there were."""
        names = [*self.hosts]
        for name in names:
            self.schedule.kill(name)
        for name in names:
            self.hosts.pop(name).close()
        return names

    def lost(self, head: int) -> None:
        """Put down that the operator has put an older database in place, with this head."""
        self.record.losses.append(Loss(step=self.schedule.step, head=head))

    def _add(
        self,
        host: Host,
        what: str,
        work: Callable[[], None],
        weight: int,
        *,
        is_writer: bool = False,
    ) -> None:
        name = f"{host.name} {what}"
        self.schedule.add(Actor(name, host.name, work, weight, is_writer=is_writer))

    def _is_writing(self) -> bool:
        return any(not actor.done for actor in self.schedule.actors if actor.is_writer)

    def _caught_up(self) -> View | None:
        """The read model once no more is to be done; what stops it is broken."""
        feeders = [host.feeder for host in self.hosts.values() if host.feeder is not None]
        ends = monotonic() + _CATCH_UP_SECONDS
        head = max((row[0] for row in self.rig.rows()), default=0)
        while monotonic() < ends:
            idle = self._step_all(feeders)
            view = self._readers.last_view("all hosts", self.schedule.step + 1)
            if idle and view is not None and view.checkpoint >= head:
                return view
            if idle:
                sleep(0.01)
        self.record.broken.append(f"no read model has come to {head} in {_CATCH_UP_SECONDS} s")
        return self._readers.last_view("all hosts", self.schedule.step + 1)

    def _step_all(self, feeders: list[Feeder]) -> bool:
        done = 0
        for feeder in [*feeders]:
            try:
                with suppress(StoreUnavailable):
                    done += feeder.step()
            except Exception as error:
                feeders.remove(feeder)
                self.record.broken.append(f"a read model is fed no more: {error!r}")
        return not done

    def _rng(self, what: str) -> random.Random:
        return random.Random(f"{self._seed} {what}")


def _told(error: BaseException) -> str:
    """The error and where it was raised; of the harness itself no line."""
    lines = [
        f"{Path(frame.filename).name}:{frame.lineno} {frame.name}"
        for frame in traceback.extract_tb(error.__traceback__)
        if "histories" not in frame.filename
    ]
    return f"{error!r} at {', '.join(lines[-8:])}"


def pause(history: History, rng: random.Random) -> str:
    """Stop a host for a while, as a machine does that is suspended."""
    name, steps = rng.choice([*history.hosts]), rng.randrange(10, 120)
    history.schedule.sleep(name, steps)
    return f"{name} for {steps} steps"


def kill(history: History, rng: random.Random) -> str:
    """End a host as by a kill, and start it again."""
    name = rng.choice([*history.hosts])
    history.kill(name)
    history.start(name)
    return name
