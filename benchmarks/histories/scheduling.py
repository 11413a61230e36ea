"""One actor runs at a time; a seed decides at each point of the code who goes on, and what fails.

Each actor has a thread. It calls `point` between two calls of the log, or between two statements of
a database; there the next random number hands the turn to another actor, or lets a fault strike.
"""

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

COMMITTED = "committed, not synced"
"""The point between a commit and the statement that waits for the disk."""
ANSWERED = "has an answer"
"""The point after a statement."""
_SWITCHES = (0.2, 0.5, 0.9)
"""Chances that another actor goes on at a point: a history has one of these."""
_DEADLINE = 120.0
"""Seconds that an actor may take between two points; one that is blocked would take for ever."""
_STEPS = 30_000
"""Points of a history that does not come to its end; others have some hundreds."""

_running = threading.local()


class Killed(BaseException):
    """Ends an actor whose process is killed; no code that catches errors catches this."""


class Stuck(Exception):
    """An actor waits for one that has no turn, or none comes to its end."""


class Actor:
    """Something that runs in a thread of its own, when it has the turn."""

    def __init__(
        self, name: str, host: str, work: Callable[[], None], weight: int, *, is_writer: bool
    ) -> None:
        """`weight`: how often the actor goes on, beside others."""
        self.name = name
        self.host = host
        self.weight = weight
        self.is_writer = is_writer
        self.at = "begin"
        self.asleep_until = 0
        """The step up to which somebody else goes on, if there is anybody."""
        self.killed = False
        self.done = False
        self.error: BaseException | None = None
        """Error that ended the actor before its time."""
        self.go = _closed_gate()
        self.quiet = 0
        """Number of blocks without points that the actor is in."""
        self.work = work

    def is_at(self, label: str) -> bool:
        """True if the actor waits at a point."""
        return not self.done and self.at == label


class Strike:
    """A fault of a plan, with the moment at which it is to happen."""

    def __init__(
        self, name: str, after: int, happen: Callable[[], str], *, awaits_commit: bool = False
    ) -> None:
        """It is due after so many requests; `happen` does it, and says to whom.

        With `awaits_commit`, it waits for a while until somebody is at the point COMMITTED.
        """
        self.name = name
        self.after = after
        self.happen = happen
        self.awaits_commit = awaits_commit


class Schedule:
    """The turns of one history."""

    def __init__(self, rng: random.Random, strikes: list[Strike]) -> None:
        self._rng = rng
        self._strikes = strikes
        self._switch = rng.choice(_SWITCHES)
        self.actors: list[Actor] = []
        self._chosen: Actor | Strike | None = None
        self._turn = _closed_gate()
        self._patience = 60
        """Steps that a strike still waits for somebody to be at COMMITTED."""
        self.step = 0
        self.requests = 0
        """Number of requests that were begun."""
        self.trace: list[str] = []

    def add(self, actor: Actor) -> None:
        """Let an actor take part; its thread begins when it has its first turn."""
        self.actors.append(actor)
        threading.Thread(target=self._run, args=(actor,), name=actor.name, daemon=True).start()

    def note(self, line: str) -> None:
        """Put down what happens, for the person who reads a failing history."""
        self.trace.append(f"{self.step:5} {line}")

    def run(self) -> None:
        """Run until every actor has ended; raises Stuck."""
        while alive := [actor for actor in self.actors if not actor.done]:
            if self.step > _STEPS:
                raise Stuck(f"more than {_STEPS} steps: {[actor.name for actor in alive]}")
            chosen = self._chosen or self._choose(alive, None)
            self._chosen = None
            if isinstance(chosen, Strike):
                self._strikes.remove(chosen)
                self.note(f"FAULT {chosen.name}: {chosen.happen()}")
            else:
                self._resume(chosen)

    def kill(self, host: str) -> None:
        """End the actors of a host where they are; they do nothing more."""
        for actor in self.actors:
            if actor.host == host and not actor.done:
                actor.killed = True
                while not actor.done:
                    self._resume(actor)

    def sleep(self, host: str, steps: int) -> None:
        """Have the others go on without a host for so many steps."""
        for actor in self.actors:
            if actor.host == host:
                actor.asleep_until = self.step + steps

    def _resume(self, actor: Actor) -> None:
        actor.go.release()
        if not self._turn.acquire(timeout=_DEADLINE):
            raise Stuck(f"{actor.name} does not go on from {actor.at!r}")

    def _run(self, actor: Actor) -> None:
        actor.go.acquire()
        _running.schedule, _running.actor = self, actor
        try:
            if not actor.killed:
                actor.work()
        except Killed:
            pass
        except BaseException as error:
            actor.error = error
        actor.done = True
        self._turn.release()

    def reach(self, actor: Actor, label: str) -> None:
        """Have an actor wait for its next turn."""
        if actor.killed:
            raise Killed
        actor.at = label
        self.step += 1
        self.note(f"{actor.name}: {label}")
        if label == COMMITTED and self._rng.random() < 0.7:
            actor.asleep_until = self.step + self._rng.randrange(5, 40)
        self._chosen = self._choose([each for each in self.actors if not each.done], actor)
        if self._chosen is not actor:
            self._turn.release()
            actor.go.acquire()
            if actor.killed:
                raise Killed
        else:
            self._chosen = None

    def _choose(self, alive: list[Actor], current: Actor | None) -> Actor | Strike:
        if (strike := self._due(alive, current)) is not None:
            return strike
        awake = [actor for actor in alive if actor.asleep_until <= self.step] or alive
        if current in awake and self._rng.random() >= self._switch:
            assert current is not None
            return current
        return self._rng.choices(awake, [actor.weight for actor in awake])[0]

    def _due(self, alive: list[Actor], current: Actor | None) -> Strike | None:
        """The next strike, if it is to happen now."""
        if not self._strikes or self.requests < self._strikes[0].after:
            return None
        strike = self._strikes[0]
        if strike.awaits_commit and self._patience:
            self._patience -= 1
            # Best of all when somebody was just given something.
            told = current is not None and current.at in (ANSWERED, COMMITTED)
            likely = (0.2 if told else 0.05) * any(actor.is_at(COMMITTED) for actor in alive)
        else:
            likely = 0.1
        if self._rng.random() >= likely:
            return None
        self._patience = 60
        return strike


def point(label: str) -> None:
    """Let others go on; does nothing in a thread that is no actor's."""
    actor: Actor | None = getattr(_running, "actor", None)
    if actor is not None and not actor.quiet:
        schedule: Schedule = _running.schedule
        schedule.reach(actor, label)


def _closed_gate() -> threading.Lock:
    """A lock that one thread waits for and another one releases: the quickest of signals."""
    gate = threading.Lock()
    gate.acquire()
    return gate


def is_scheduled() -> bool:
    """True if the calling thread is an actor's, and gives its turn away at points."""
    actor: Actor | None = getattr(_running, "actor", None)
    return actor is not None and not actor.quiet


@contextmanager
def quiet() -> Iterator[None]:
    """A block without points: the harness looks at something, or a transaction is open."""
    actor: Actor | None = getattr(_running, "actor", None)
    if actor is None:
        yield
        return
    actor.quiet += 1
    try:
        yield
    finally:
        actor.quiet -= 1
