"""The judge: a reaction that holds each contract against what is known, whenever that changes.

It follows the log, what is measured, and the moments at which time alone may change a verdict. A
verdict is an event of the contract, stored where it says something new. So it may look twice, as it
does after a crash: it remembers how far it has looked once its verdicts are stored.
"""

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from domain.aggregate.entity import Entity
from domain.aggregate.lifecycle import format_version
from domain.contracts.changes.comparing import compare
from domain.contracts.changes.rules import Level, Perspective, bump_of
from domain.contracts.changes.terms import terms_of
from domain.contracts.validation import sla
from domain.contracts.validation.rules import RulesProcess
from domain.contracts.validation.verdict import Evidence, judge
from domain.errors import StoreUnavailable
from domain.event_store.appends import prepared
from domain.event_store.entity_reads import RecordedEvent
from domain.event_store.port import EventStore
from domain.event_store.reactions import Attention, ReactionMemory
from domain.event_store.writes import Append
from domain.events import REMARKS, ContractBreaking, ContractJudged, Event
from domain.judging.evidence import expected_tests, gather_evidence, newest_result
from domain.kinds.ids import new_id
from domain.kinds.registry import CONTRACT
from domain.machine import clock
from domain.measurements.port import Measurements
from domain.measurements.reports import FOREVER
from domain.openmetadata.verdicts import UNKNOWN
from domain.reading import history
from domain.writing.contract_gate import is_active
from domain.writing.entity_cache import EntityCache
from domain.writing.recent import RecentEntities

NAME = "judge"
"""The judge's name among reactions, and the actor of its events."""
_BATCH = 1_000
"""Events, and entities with new measurements, that one step looks at."""
_AT_ONCE = 100
"""Contracts that one step judges, of those whose moment has come."""
STEP_SECONDS = 1.0
"""Length of a step that has much to judge: a server that stops waits for its end."""
_SLOW_SECONDS = 0.3
"""Seconds from which on judging a contract counts as slow."""
_SLOW_WAITS = 5_000
"""Milliseconds after which a contract that takes long, and had no turn, is tried again."""
_NAMED = 100
"""Breaking changes that an event names."""
_REMEMBERED = 10_000
_REST_SECONDS = 1.0
"""Seconds between two notes of the position reached, while no event concerns a contract."""

log_line = logging.getLogger("catalog.judge")


class Judge:
    """Judges contracts, in one thread of the one process that leads."""

    name = NAME

    def __init__(
        self,
        log: EventStore,
        measurements: Measurements,
        *,
        now: Callable[[], int] = clock.now,
        step_seconds: float = STEP_SECONDS,
    ) -> None:
        """`now` gives milliseconds since the Unix epoch.

        After `step_seconds` a step judges no further contract.
        """
        self._step_seconds = step_seconds
        self._log = log
        self._measurements = measurements
        self._memory: ReactionMemory = log.reaction(NAME)
        self._now = now
        self._entities = EntityCache(log)
        self._looked_at = RecentEntities(_REMEMBERED)
        """The states of contracts that were judged last, so that few histories are read again."""
        self._slow: set[str] = set()
        """Contracts that took long the last time, as their rules may: others come first."""
        self._position: int | None = None
        self._noted_at = float("-inf")
        self._epoch = log.epoch()

    def begin(self) -> None:
        """Go on from the remembered position; to be called when this process begins to lead."""
        self._position = None

    def step(self) -> int:
        """Judge the contracts that the next events, measurements and moments concern.

        Returns the number of these events, measurements and moments.

        Raises StoreUnavailable when trying again may help.
        """
        if self._position is None or self._log.epoch() != self._epoch:
            self._epoch = self._log.epoch()
            self._looked_at = RecentEntities(_REMEMBERED)
            # A log that was restored, or has lost its end, is followed from its beginning.
            remembered = self._memory.position()
            self._position = remembered if remembered <= self._log.head() else 0
        batch = self._log.read(self._position, _BATCH)
        written = self._measurements.written(_BATCH)
        due = self._memory.due(self._now(), _AT_ONCE)
        position = batch[-1].position if batch else self._position
        concerned = dict.fromkeys(due)
        happened = [each for each in batch if not isinstance(each.event, REMARKS)]
        concerned |= dict.fromkeys(
            each.entity_id for each in happened if each.event.kind == CONTRACT.name
        )
        touched = {each.entity_id for each in happened}.union(id_ for id_, _ in written)
        concerned |= dict.fromkeys(self._memory.watching(touched))
        attention = self._looked(concerned) if concerned else {}
        rested = time.monotonic() - self._noted_at >= _REST_SECONDS
        if attention or (position > self._position and rested):
            self._memory.settle(position, attention)
            self._noted_at = time.monotonic()
        self._position = position
        if written:
            self._measurements.settle(written)
        return len(happened) + len(written) + len(due)

    def _looked(self, contract_ids: Iterable[str]) -> dict[str, Attention]:
        """Judge contracts and store the new verdicts; returns when to look at each contract again.

        A contract that somebody has changed meanwhile is due at once, as is one that this step has
        no time for, or some seconds later if judging that one takes long.
        """
        # Before anything is read: what is appended meanwhile is looked at by a later step.
        position = self._log.head()
        ends = time.monotonic() + self._step_seconds
        attention: dict[str, Attention] = {}
        appends: dict[str, Append] = {}
        with RulesProcess() as process:
            for contract_id in sorted(contract_ids, key=self._slow.__contains__):
                begun = time.monotonic()
                if attention and begun >= ends:
                    waits = _SLOW_WAITS if contract_id in self._slow else 0
                    attention[contract_id] = Attention(moment=self._now() + waits)
                    continue
                attention[contract_id], remarks = self._look(contract_id, position, process)
                if time.monotonic() - begun > _SLOW_SECONDS:
                    self._slow.add(contract_id)
                else:
                    self._slow.discard(contract_id)
                if remarks:
                    appends[contract_id] = prepared(remarks)
        stored = self._log.append_group([*appends.values()]) if appends else []
        for contract_id, result in zip(appends, stored, strict=True):
            if not isinstance(result, int):
                again = attention[contract_id]
                attention[contract_id] = replace(again, moment=self._now())
        return attention

    def _look(
        self, contract_id: str, position: int, process: RulesProcess
    ) -> tuple[Attention, list[RecordedEvent]]:
        """Judge a contract: returns when to look at it again, and the events of a new verdict.

        Everything that bears on the contract is known up to `position`.
        """
        contract = self._entities.newest(contract_id)
        if contract is None or contract.purged or contract.deleted:
            return Attention(watches=()), []
        assert contract.parent_id is not None
        entity = self._entities.newest(contract.parent_id)
        if entity is None or entity.purged:
            return Attention(watches=[contract.id, contract.parent_id]), []
        try:
            remarks: list[Event] = [*self._breaking(contract)]
            verdict = self._judged(contract, entity, position, process)
        except StoreUnavailable:
            raise
        except Exception:
            # One contract must not keep all others from being judged.
            log_line.exception("a contract cannot be judged", extra={"contract": contract.fqn})
            why = "it could not be judged: the log of the server says why"
            remarks, verdict = [], self._found(contract, position, UNKNOWN, why)
        if not _is_same(contract.judged, verdict):
            remarks.append(verdict)
        self._looked_at.keep(contract)
        watches = [contract.id, entity.id, *expected_tests(contract)]
        return Attention(moment=verdict.valid_until, watches=watches), _recorded(contract, remarks)

    def _judged(
        self, contract: Entity, entity: Entity, position: int, process: RulesProcess
    ) -> ContractJudged:
        now = self._now()
        evidence = gather_evidence(self._measurements, contract, entity, now, self._entities.newest)
        status, reasons = _verdict(contract, evidence, now, process)
        return self._found(
            contract,
            position,
            status,
            reasons,
            valid_until=_next_moment(contract, evidence, now),
            latest=newest_result(self._measurements, contract.id),
        )

    def _found(
        self, contract: Entity, position: int, status: str, reasons: str, **more: Any
    ) -> ContractJudged:
        """The event that records a verdict; `more` has `valid_until` and the newest result."""
        return ContractJudged(
            kind=contract.kind,
            actor=NAME,
            at=self._now(),
            version=contract.version,
            request_id=new_id(),
            position=position,
            verdict=status,
            reasons=reasons,
            **more,
        )

    def _breaking(self, contract: Entity) -> Iterator[ContractBreaking]:
        """An event for each version, since the last verdict, that broke an Active contract."""
        known = contract.judged.version if contract.judged else 0
        if contract.version <= known or not is_active(contract):
            return
        held = self._looked_at.get(contract.id)
        if held is not None and (held.version != known or not is_active(held)):
            # The last Active state may be an earlier one.
            held = None
        for revision in history.revisions(
            self._log, contract.id, upto=contract.stream_version, known=held
        ):
            after = revision.entity
            if not is_active(after):
                continue
            if held is not None and after.version > known:
                yield from self._broken(held, after, contract.version)
            held = after

    def _broken(self, held: Entity, after: Entity, version: int) -> Iterator[ContractBreaking]:
        changes = compare(terms_of(held), terms_of(after))
        level = Level.BREAKING
        broken = [each for each in changes if each.rule.level(Perspective.CONSUMER) is level]
        if broken:
            yield ContractBreaking(
                kind=after.kind,
                actor=after.updated_by,
                at=self._now(),
                version=version,
                request_id=after.request_id,
                before=held.version,
                bump=bump_of(changes).value,
                changes=[{"rule": each.rule.word, "path": each.path} for each in broken[:_NAMED]],
                total=len(broken),
            )


def _verdict(
    contract: Entity, evidence: Evidence, now: int, process: RulesProcess
) -> tuple[str, str]:
    """The verdict on a contract now, and the reasons."""
    begins, ends = contract.value("effectiveFrom"), contract.value("effectiveUntil")
    version = f"version {format_version(contract.version)}"
    if (moment := sla.moment(begins)) is not None and now < moment:
        return UNKNOWN, f"{version}; the contract is not in effect yet"
    if (moment := sla.moment(ends)) is not None and now >= moment:
        return UNKNOWN, f"{version}; the contract is not in effect any more"
    result = judge(contract, evidence, now, process, strict=False)
    return result.contract_execution_status, result.result or ""


def _next_moment(contract: Entity, evidence: Evidence, now: int) -> int | None:
    """The first moment after now at which time alone may change the verdict."""
    moments: Iterable[int | None] = (
        evidence.changes_at,
        *map(sla.moment, (contract.value("effectiveFrom"), contract.value("effectiveUntil"))),
        *sla.moments(contract.value("sla") or {}, evidence.recorded, now),
    )
    # A promise of any number of years has moments that no store can hold.
    coming = (each for each in moments if each is not None and now < each <= FOREVER)
    return min(coming, default=None)


def _is_same(held: ContractJudged | None, found: ContractJudged) -> bool:
    """True if a verdict says nothing that the one before it does not say."""
    return held is not None and all(
        getattr(held, key) == getattr(found, key)
        for key in ("version", "verdict", "reasons", "valid_until", "latest")
    )


def _recorded(contract: Entity, remarks: list[Event]) -> list[RecordedEvent]:
    return [
        RecordedEvent(contract.id, contract.stream_version + number, event)
        for number, event in enumerate(remarks, 1)
    ]
