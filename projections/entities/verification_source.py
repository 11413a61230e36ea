"""The sorted read model as verification sees it: what is stored, and what is kept beside it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import zip_longest
from typing import Any

import msgspec

from domain.aggregate.entity import Entity
from domain.event_store.port import EventStore
from domain.patches.json_input import MISFITS
from domain.reading import changes
from domain.reading.moments import Moment, recorded_moments
from projections.entities.daily_verification import DayReplay
from projections.entities.past_verification import SIDES, past_differences
from projections.entities.port import EntitySnapshot, SortedReadModel
from projections.entities.stored_entity import (
    DIGEST_MODULUS,
    StoredEntity,
    actual_digest,
    stored_entity,
)
from projections.feeding.log_fingerprint import disagreement
from projections.feeding.port import Damaged, Folded
from projections.verification.report import Difference, Differences, FieldPair, Model, ModelEntry

_JSON = frozenset({"core", "optional"})


class StoredEntities:
    """The entities of a read model in one snapshot, as a source of verification."""

    def __init__(self, model: SortedReadModel, snapshot: EntitySnapshot, log: EventStore) -> None:
        self._model = model
        self._log = log
        self._snapshot = snapshot
        self.ids = snapshot.ids

    def model(self, ids: Sequence[str] | None) -> Model[StoredEntity]:
        """Return the stored rows of these entities (None: of all), beside those of the log."""
        stored = self._snapshot.entities(ids)
        days = DayReplay(self._snapshot)
        return Model(
            name="entities",
            position=self._snapshot.position,
            horizon=self._snapshot.horizon,
            holds=lambda _: True,
            stored=(ModelEntry(one.id, one.kind, one.fqn, one) for one in stored),
            expected=_expected,
            digest=_digest,
            modulus=DIGEST_MODULUS,
            explain=_explain,
            kept=self._snapshot.digests(),
            follow=days.follow,
            inner=partial(self._compare_past, days),
        )

    def find_damage(self, differences: Differences) -> None:
        """Add the damage that the database reports, and the lists that differ from the entities.

        Lists and entities are read from a snapshot of their own, as `ids` reads the other one
        meanwhile.
        """
        try:
            lines = self._model.damage()
        except Damaged as error:
            lines = [error.message]
        for line in lines:
            differences.add(Difference("file", "", "", line))
        with self._model.snapshot() as snapshot:
            for difference in snapshot.list_differences():
                differences.add(difference)

    def _compare_past(self, days: DayReplay, differences: Differences) -> None:
        for difference in days.differences():
            differences.add(difference)
        self._compare_moments(differences)
        for difference in past_differences(self._log, self._snapshot):
            differences.add(difference)

    def _compare_moments(self, differences: Differences) -> None:
        due = recorded_moments(self._log, self._snapshot.position)
        for moments in zip_longest(due, self._snapshot.moments()):
            if moments[0] != moments[1]:
                # A moment that is missing or too much shifts all that follow.
                differences.add(_wrong_moment(*moments))
                break


@contextmanager
def stored_entities(model: SortedReadModel, log: EventStore) -> Iterator[StoredEntities]:
    """The entities as they are stored now, until the block ends.

    Raises Damaged when the read model was not built from this log.
    """
    with model.snapshot() as snapshot:
        reason = disagreement(log, snapshot.position, snapshot.fingerprint)
        if reason is not None:
            raise Damaged(f"the sorted read model is not of this log: {reason}")
        yield StoredEntities(model, snapshot, log)


def wrong_list(scope: str, kind: str, entity_id: str, name: str, *, listed: bool) -> Difference:
    """A list narrowed to a scope that shows an entity (`listed`) though it should not, or does not
    though it should.
    """
    sides = (None, "listed") if listed else ("listed", None)
    return Difference("scope", kind, entity_id, name, [FieldPair(scope, *sides)], SIDES)


def wrong_total(
    kind: str, scope: str, deleted: int, status: str, counted: int, kept: int
) -> Difference:
    """A total that differs from the number of entities that it stands for.

    `scope` is empty for the list of the whole kind, `status` for the entities without one.
    """
    narrowed = {"scope": scope, "status": status}
    which = [f"{name} {value}" for name, value in narrowed.items() if value]
    name = ", ".join(("total", "soft-deleted" if deleted else "live", *which))
    return Difference("counter", kind, "", name, [FieldPair("n", counted, kept)], SIDES)


def _wrong_moment(due: Moment | None, held: Moment | None) -> Difference:
    """The first moment that is not as the log has it."""
    return Difference("moment", "", "", "moments", [FieldPair("time and position", due, held)])


def _expected(entity: Entity, position: int) -> tuple[StoredEntity, int]:
    expected = stored_entity(Folded(entity, position))
    return expected, int.from_bytes(expected.digest, "big")


def _digest(stored: StoredEntity) -> int:
    return int.from_bytes(actual_digest(stored), "big")


def _explain(expected: StoredEntity, stored: StoredEntity) -> list[FieldPair]:
    """The differing fields; of documents, the differing fields inside."""
    pairs: list[FieldPair] = []
    for name in StoredEntity.__struct_fields__:
        due, held = getattr(expected, name), getattr(stored, name)
        if due == held:
            continue
        if name not in _JSON:
            pairs.append(FieldPair(name, _shown(due), _shown(held)))
            continue
        try:
            decoded = msgspec.json.decode(due), msgspec.json.decode(held)
        except (*MISFITS, TypeError) as error:
            pairs.append(FieldPair(name, "JSON", f"no JSON: {error}"))
            continue
        inside = [FieldPair(d.name, d.old, d.new) for d in changes.differences(*decoded)]
        pairs += inside or [FieldPair(name, "the same fields", "in another order or spelling")]
    return pairs


def _shown(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else value
