"""The gate of contracts: an Active one is not broken unless a version announces it."""

import json
from collections.abc import Iterable

import msgspec

from domain.aggregate.entity import Entity, evolve
from domain.contracts.changes.comparing import compare
from domain.contracts.changes.rules import Bump, Change, Level, Perspective, bump_of
from domain.contracts.changes.terms import terms_of
from domain.contracts.changes.versions import announces, highest
from domain.contracts.exporting import given_document
from domain.errors import Conflict
from domain.event_store.entity_reads import EntityReads
from domain.kinds.bodies.contracts import GIVEN
from domain.kinds.registry import CONTRACT

ACTIVE = "Active"
_SHOWN = 20
"""Words of rules that a refusal names."""
_LONGEST = 100
"""Characters of a version that a refusal repeats."""
_READERS = {
    Perspective.CONSUMER: "those who read the data",
    Perspective.PRODUCER: "those who write the data",
    Perspective.FULL: "those who read or write the data",
}


class ContractBroken(Conflict):
    """The write breaks an Active contract, and its document's version does not announce that."""

    def __init__(
        self, declared: object, changes: list[Change], perspective: Perspective, bump: Bump
    ) -> None:
        """`declared` is the version over which one would have to rise."""
        broken = [each for each in changes if each.rule.level(perspective) is Level.BREAKING]
        words = ", ".join([*dict.fromkeys(each.rule.word for each in broken)][:_SHOWN])
        breaks = f"this breaks the contract for {_READERS[perspective]}, as it was when it was last"
        announced = (
            f"A document announces them by a version that rises by its {bump} number, or before"
            " 1.0.0 by its minor number"
        )
        super().__init__(
            f"{breaks} Active: {len(broken)} breaking changes ({words}). {announced}, over"
            f" {_shown(declared)}"
        )
        self.plain = f"{breaks} Active. {announced}"
        """The message for those who may not see all of the contract."""
        self.changes = changes
        self.perspective = perspective


def _shown(version: object) -> str:
    """A declared version, which may be a text of any length."""
    return str(version or "none")[:_LONGEST]


class _Baseline(msgspec.Struct):
    """The terms to which an entity's contract is held."""

    contract: Entity
    until: float
    """Milliseconds since the epoch when they ceased to be Active; infinite for those that have
    not."""


def check_gate(
    perspective: Perspective | None, log: EntityReads, before: Entity | None, after: Entity
) -> None:
    """Raise ContractBroken if a write breaks what the contract of an entity was when last Active.

    `before` and `after` are the contract before and after the write; one that is not Active
    afterwards is not held to anything. The last Active contract of the entity counts, also one that
    was deleted meanwhile; of one that was purged nothing is left to compare. Another writer that
    changes what this rests on is first or second by the log, so the second is judged anew.
    """
    if perspective is None or after.kind != CONTRACT.name or not is_active(after):
        return
    baseline = before if before is not None and is_active(before) else _last_active(log, after)
    if baseline is None:
        return
    changes = compare(terms_of(baseline), terms_of(after))
    if all(change.rule.level(perspective) is not Level.BREAKING for change in changes):
        return
    bump, declared = bump_of(changes), _highest_declared(log, after)
    if not announces(declared, _declared(after), bump):
        raise ContractBroken(declared, changes, perspective, bump)


def is_active(contract: Entity) -> bool:
    """True if a contract binds: it is Active, and not deleted."""
    return contract.status == ACTIVE and not contract.deleted and not contract.purged


def _last_active(log: EntityReads, contract: Entity) -> Entity | None:
    """The contract of the same entity that was the last to be Active, as it was then."""
    ids = _ids_of_contracts(log, contract)
    baselines = [held for entity_id in ids if (held := _baseline(log, entity_id)) is not None]
    return max(baselines, key=lambda each: each.until).contract if baselines else None


def _baseline(log: EntityReads, entity_id: str) -> _Baseline | None:
    """The last Active state of a contract; None for one that never was."""
    state: Entity | None = None
    held: _Baseline | None = None
    for recorded in log.stream(entity_id):
        before, state = state, evolve(state, recorded.event, entity_id)
        if is_active(state):
            held = _Baseline(state, float("inf"))
        elif before is not None and is_active(before) and held is not None:
            held.until = state.updated_at
    return held


def _ids_of_contracts(log: EntityReads, contract: Entity) -> Iterable[str]:
    """The ids of all contracts of the same entity but those that were purged."""
    assert contract.parent_id is not None
    claims = log.claims(parents=[contract.parent_id])
    return dict.fromkeys(claim.id for claim in claims if claim.kind == CONTRACT.name)


def _highest_declared(log: EntityReads, contract: Entity) -> object:
    """The highest version with which a contract of the same entity was ever Active.

    The version of the last Active contract may be lower, since a write that breaks nothing may
    lower it.
    """
    highest_yet: object = None
    for entity_id in _ids_of_contracts(log, contract):
        state: Entity | None = None
        seen: object = None
        for recorded in log.stream(entity_id):
            state = evolve(state, recorded.event, entity_id)
            if is_active(state) and (given := state.body.get(GIVEN)) != seen:
                highest_yet, seen = highest((highest_yet, _declared(state))), given
    return highest_yet


class _Versioned(msgspec.Struct):
    version: msgspec.Raw = msgspec.Raw(b"null")


_versioned = msgspec.json.Decoder(_Versioned)


def _declared(contract: Entity) -> object:
    """The version that a document declares; None of a contract that was given no document."""
    given = given_document(contract.body)
    return None if given is None else json.loads(bytes(_versioned.decode(given.text).version))
