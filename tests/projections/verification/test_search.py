"""An index that departs from the log is found, and the documents named; writes are no damage."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from msgspec.structs import replace

from domain.errors import StoreUnavailable
from domain.event_store.entity_reads import StreamSpan
from domain.kinds.registry import KINDS
from domain.reading import history
from projections.entities.verification_source import stored_entities
from projections.search.documents.documents import SearchDocument, document
from projections.search.engine import DocumentChanges, SearchedPaths
from projections.verification.report import Difference, ProjectionProof, Verdict
from projections.verification.run import Request, verify
from tests.commits import commit
from tests.projections.read_models import ME
from tests.projections.verification.conftest import NOW, Verified

GHOST = "00000000-0000-7000-8000-000000000000"


def found(filled: Verified) -> list[tuple[str, str, str]]:
    """The differences of the index, when it and nothing else differs."""
    result = filled.verify()
    entities, search = result.projections
    assert (result.log.verdict, entities.verdict) == (Verdict.EQUAL, Verdict.EQUAL)
    assert search.verdict == result.verdict
    return [(d.sort, d.kind, d.id) for d in search.differences]


def apply(filled: Verified, documents: dict[str, Any]) -> None:
    """Commit documents at the position and fingerprint that the index has."""
    commit(filled.engine, documents, *filled.engine.checkpoint_and_fingerprint())


def test_missing_document_is_named(filled: Verified) -> None:
    orders = filled.orders.entity
    apply(filled, {orders.id: None})

    assert found(filled) == [("missing", "table", orders.id)]


def test_ghost_document_is_named(filled: Verified) -> None:
    ghost = document(filled.orders.entity)
    apply(filled, {GHOST: type(ghost)(GHOST, ghost.kind, False, ghost.fields, ghost.sort, 1)})

    assert found(filled) == [("ghost", "table", GHOST)]


def test_document_of_an_older_state_is_named(filled: Verified) -> None:
    orders = filled.orders.entity
    patch = [{"op": "replace", "path": "/description", "value": "new"}]
    filled.catalog.patch(KINDS["table"], orders.id, patch, ME)
    filled.index()
    apply(filled, {orders.id: document(orders)})

    # Its newest state is not there, and one is that no event led to.
    past = [("past", "table", orders.id)] * 2
    assert found(filled) == [("different", "table", orders.id), *past]


class WrongSums:
    """A snapshot whose kept digests are not those of its documents, or with a double."""

    def __init__(self, snapshot: Any, *, double: bool) -> None:
        self.checkpoint = snapshot.checkpoint
        self.searched = snapshot.searched
        self.horizon = snapshot.horizon
        self._snapshot = snapshot
        self._double = double

    def digests(self) -> dict[str, tuple[int, int]]:
        return {**self._snapshot.digests(), "table": (2, 1)}

    def states(self) -> Iterator[Any]:
        states: Iterator[Any] = self._snapshot.states()
        return states

    def entries(self) -> Iterator[tuple[str, str, int]]:
        entries = list(self._snapshot.entries())
        return iter(entries[:1] + entries if self._double else entries)


class WrongEngine:
    """An engine that lends such snapshots."""

    def __init__(self, engine: Any, *, double: bool) -> None:
        self._engine = engine
        self._double = double

    @contextmanager
    def snapshot(self) -> Iterator[WrongSums]:
        with self._engine.snapshot() as snapshot:
            yield WrongSums(snapshot, double=self._double)


def test_paths_that_do_not_follow_from_the_log_are_told(filled: Verified) -> None:
    filled.table("free", extension={"cost": 1, "colour": "red"})
    filled.index()
    assert filled.verify().verdict == Verdict.EQUAL
    checkpoint = filled.engine.checkpoint_and_fingerprint()
    wrong = SearchedPaths(("extension.colour",), full=True)
    changes = DocumentChanges({}, checkpoint[0], checkpoint, checkpoint[1], wrong)
    filled.engine.apply(changes)
    assert found(filled) == [("counter", "", "")]


def test_sums_that_drifted_are_told(filled: Verified) -> None:
    right = filled.engine
    filled.engine = WrongEngine(right, double=False)  # type: ignore[assignment]
    try:
        assert found(filled) == [("digest", "table", "")]
    finally:
        filled.engine = right


def test_document_that_is_there_twice_is_named(filled: Verified) -> None:
    first = entries(filled)[0]
    right = filled.engine
    filled.engine = WrongEngine(right, double=True)  # type: ignore[assignment]
    try:
        assert first[0] in {entity_id for _, _, entity_id in found(filled)}
    finally:
        filled.engine = right


def entries(filled: Verified) -> list[tuple[str, str, int]]:
    with filled.engine.snapshot() as snapshot:
        return list(snapshot.entries())


def test_index_that_cannot_be_opened_leaves_the_rest_proven(filled: Verified) -> None:
    def taken() -> Any:
        raise StoreUnavailable("it is being built")

    subjects = {"entities": lambda: stored_entities(filled.entities, filled.log), "search": taken}
    result = verify(filled.log, subjects, Request(now=NOW))

    proofs = {proof.name: proof for proof in result.projections}
    assert proofs["search"] == ProjectionProof(
        "search", Verdict.UNKNOWN, reason="it is being built"
    )
    assert proofs["entities"].verdict is Verdict.EQUAL
    assert result.verdict is Verdict.UNKNOWN


def test_writes_beside_it_raise_no_alarm(filled: Verified) -> None:
    stopping = threading.Event()
    failed: list[BaseException] = []

    def work(step: Any) -> None:
        try:
            number = 0
            while not stopping.is_set():
                step(number)
                number += 1
        except BaseException as error:
            failed.append(error)

    def write(number: int) -> None:
        made = filled.table(f"t{number}", description="one")
        patch = [{"op": "replace", "path": "/description", "value": "two"}]
        filled.catalog.patch(KINDS["table"], made.entity.id, patch, ME)
        if number % 3 == 0:
            filled.delete(made, hard=number % 2 == 0)

    threads = [
        threading.Thread(target=work, args=(step,))
        for step in (write, lambda _: filled.projector.step(), lambda _: filled.indexer.step())
    ]
    for thread in threads:
        thread.start()
    try:
        seen: list[tuple[Verdict, list[list[Difference]]]] = []
        positions = set()
        # Until there were writes between proofs of each sort.
        for number in range(60):
            if number >= 6 and len(positions) > 5:
                break
            result = filled.verify(sample=20, seed=number) if number % 3 == 2 else filled.verify()
            differences = [proof.differences for proof in result.projections]
            seen.append((result.verdict, differences))
            positions.update(proof.position for proof in result.projections)
    finally:
        stopping.set()
        for thread in threads:
            thread.join()
    assert failed == []
    assert seen == [(Verdict.EQUAL, [[], []])] * len(seen)
    assert len(positions) > 5


Change = Callable[[list[SearchDocument]], list[SearchDocument]]


def rewrite(filled: Verified, change: Change) -> str:
    """Change a table twice, and what the index has of its replaced states; returns its id."""
    orders = filled.orders.entity
    for text in ("new", "newer"):
        patch = [{"op": "replace", "path": "/description", "value": text}]
        filled.catalog.patch(KINDS["table"], orders.id, patch, ME)
    filled.index()
    assert filled.verify().verdict is Verdict.EQUAL
    (one, first), (two, second), (three, third) = history.states(
        filled.log.streams([StreamSpan(orders.id)])
    )
    past = [document(one, first, second), document(two, second, third)]
    apply(filled, {orders.id: None})
    checkpoint = filled.engine.checkpoint_and_fingerprint()
    commit(filled.engine, {orders.id: document(three, third)}, *checkpoint, change(past))
    return orders.id


@pytest.mark.parametrize(
    ("wrong", "fields"),
    [
        ({"digest": 1}, ["since", "digest"]),
        ({"until": 3}, ["since", "until"]),
    ],
)
def test_replaced_state_that_differs_is_named(
    filled: Verified, wrong: dict[str, int], fields: list[str]
) -> None:
    entity_id = rewrite(filled, lambda past: [replace(past[0], **wrong), past[1]])

    assert found(filled) == [("past", "table", entity_id)]
    (difference,) = filled.verify().projections[1].differences
    assert [pair.name for pair in difference.fields] == fields


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda past: past, 0),
        (lambda past: past[:1], 1),
        (lambda past: [], 2),
        (lambda past: [*past, past[0]], 1),
        (lambda past: [replace(past[0], since=1), past[1]], 2),
    ],
)
def test_replaced_state_that_is_missing_or_there_too_often_is_named(
    filled: Verified, change: Change, expected: int
) -> None:
    entity_id = rewrite(filled, change)

    assert found(filled) == [("past", "table", entity_id)] * expected
