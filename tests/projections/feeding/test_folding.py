"""Memory of the projectors' folder."""

import tracemalloc
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest
from msgspec import Raw

from domain.event_store.entity_reads import RecordedEvent
from domain.events import EntityChanged, EntityCreated
from domain.writing.recent import MAX_BYTES
from projections.feeding.folding import FOLDED_BYTES, Folder
from projections.feeding.port import Checkpoint, Folded
from projections.feeding.projector import Projector
from tests.domain.counted_store import CountedStore

COMMON: dict[str, Any] = {"kind": "team", "actor": "ann", "at": 1, "request_id": "r"}


def created(entity_id: str, size: int) -> RecordedEvent:
    body = {"description": Raw(b'"%s"' % (b"x" * size))}
    event = EntityCreated(version=1, name=entity_id, fqn=entity_id, body=body, **COMMON)
    return RecordedEvent(entity_id, 1, event)


def changed(entity_id: str, stream_version: int) -> RecordedEvent:
    patch = [{"op": "add", "path": "/displayName", "value": f"{stream_version}"}]
    event = EntityChanged(version=stream_version, patch=patch, **COMMON)
    return RecordedEvent(entity_id, stream_version, event)


class Commits:
    """A projection that keeps only what each commit was."""

    name = "commits"

    def __init__(self, position: int, fingerprint: str) -> None:
        self._reached = position, fingerprint
        self.sizes: list[dict[str, int]] = []
        """Bytes of the bodies of each commit, by id."""
        self.positions: list[int] = []

    def checkpoint_and_fingerprint(self) -> tuple[int, str]:
        return self._reached

    def begin(self, batch: Sequence[RecordedEvent]) -> None: ...

    def apply(
        self, entities: Mapping[str, Folded], position: int, fingerprint: str, *, after: Checkpoint
    ) -> None:
        self._reached = position, fingerprint
        self.positions.append(position)
        self.sizes.append(
            {key: sum(map(len, one.entity.body.values())) for key, one in entities.items()}
        )


def test_folder_remembers_large_entities_up_to_a_bound(catalog: Any) -> None:
    size = 9_000_000
    for number in range(10):
        catalog.create("databaseService", f"s{number}", serviceType="Mysql", description="d" * size)
    folder = Folder(catalog.log)
    tracemalloc.start()
    try:
        for position in range(10):
            folder.fold(catalog.log.read(position, 1))
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert MAX_BYTES - size < held < MAX_BYTES + size


def test_commit_ends_where_its_states_reach_their_bound(catalog: Any) -> None:
    size, ids = 9_000_000, [f"e{number}" for number in range(10)]
    for entity_id in ids:
        catalog.log.append([created(entity_id, size)])
    first = Projector(Commits(0, ""), catalog.log, batch_size=100)
    while first.step():
        pass
    # All of them are in one batch of the log, which is small.
    catalog.log.append([changed(entity_id, version) for version in (2, 3) for entity_id in ids])
    commits = Commits(*first.projection.checkpoint_and_fingerprint())

    assert Projector(commits, catalog.log, batch_size=100).step() == 2 * len(ids)

    assert commits.positions == sorted(set(commits.positions))
    assert commits.positions[-1] == catalog.log.head()
    assert [len(sizes) for sizes in commits.sizes[:2]] == [4, 4]
    assert max(sum(sizes.values()) for sizes in commits.sizes) < FOLDED_BYTES + 2 * size


def test_states_before_a_batch_are_read_together(catalog: Any) -> None:
    ids = [f"e{number}" for number in range(20)]
    catalog.log.append([created(entity_id, 1) for entity_id in ids])
    head = catalog.log.head()
    catalog.log.append([changed(entity_id, 2) for entity_id in reversed(ids)])
    catalog.log.append([changed(entity_id, 3) for entity_id in ids[:5]])
    store = CountedStore(catalog.log)
    folder = Folder(store)

    folded, number = folder.fold(catalog.log.read(head, 100))

    assert (store.names, number) == (["streams"], 25)
    assert list(folded) == [*reversed(ids)]
    versions = [one.entity.stream_version for one in folded.values()]
    assert versions == [2] * 15 + [3] * 5


def positions(states: Iterable[Folded]) -> list[int]:
    return [one.position for one in states]


def test_states_that_a_batch_replaces_come_with_the_last_one(catalog: Any) -> None:
    log = catalog.log
    log.append([created("old", 1), created("other", 1)])
    log.append([changed("old", 2), created("new", 1), changed("old", 3), changed("new", 2)])

    folded, _ = Folder(log).fold(log.read(2, 10))

    assert [(*positions(one.replaced), one.position) for one in folded.values()] == [(3, 5), (4, 6)]
    versions = [each.entity.stream_version for each in folded["old"].replaced]
    assert (versions, folded["old"].before) == ([2], None)
    steps = [positions(step) for one in folded.values() for step in one.steps]
    assert steps == [[3, 5], [4, 6]]


@pytest.mark.parametrize("is_remembered", [False, True])
def test_state_before_a_batch_is_given_to_who_notes_what_becomes_of_states(
    catalog: Any, is_remembered: bool
) -> None:
    log, folder = catalog.log, Folder(catalog.log)
    log.append([created("old", 1), changed("old", 2)])
    log.append([changed("old", 3), created("new", 1), changed("new", 2), changed("old", 4)])
    if is_remembered:
        folder.fold(log.read(0, 2))

    folded, _ = folder.fold(log.read(2, 10), lambda before, after: None)

    steps = {key: [positions(step) for step in one.steps] for key, one in folded.items()}
    assert steps == {"old": [[2, 3], [3, 6]], "new": [[4, 5]]}


def test_replaced_states_count_towards_the_bound_of_a_commit(catalog: Any) -> None:
    log, size = catalog.log, 9_000_000
    log.append([created("e", size)])
    log.append([changed("e", version) for version in range(2, 12)])

    folded, number = Folder(log).fold(log.read(1, 100))

    assert (number, len(folded["e"].replaced)) == (4, 3)
