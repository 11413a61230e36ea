"""Entities at two positions of the log, and the word for what became of them between."""

from collections.abc import Iterator
from typing import Any

import pytest

from domain.aggregate.entity import Entity
from domain.reading.between import PAUSE, Ends, Root, ends_of, events_between, root_of

NOTHING = "nothing"


def described(world: Any, entity: Entity, text: str) -> None:
    world.patch(entity, {"op": "add", "path": "/description", "value": text})


def both_ends(world: Any, ids: list[str], before: int, after: int) -> list[Ends]:
    return [*filter(None, ends_of(world.log, ids, before, after))]


def words(world: Any, entity: Entity) -> Iterator[str]:
    """The word for an entity between its creation and each later position."""
    created = next(world.log.stream(entity.id)).position
    for after in range(created + 1, world.log.head() + 1):
        (ends,) = both_ends(world, [entity.id], created, after)
        yield ends.change() or NOTHING


def test_one_word_says_what_became_of_an_entity_by_its_two_states(world: Any) -> None:
    service = world.create("databaseService", "s", serviceType="Mysql", description="one")
    described(world, service, "two")
    described(world, service, "one")
    world.delete(service)
    world.restore(service)
    world.delete(service, hard=True)

    assert [*words(world, service)] == ["changed", NOTHING, "deleted", NOTHING, "purged"]


def test_what_was_not_there_yet_is_created_also_if_it_is_deleted_by_then(world: Any) -> None:
    service = world.create("databaseService", "s", serviceType="Mysql")
    world.delete(service)
    (ends,) = both_ends(world, [service.id], 0, world.log.head())

    assert (ends.before, ends.after.deleted, ends.change()) == (None, True, "created")
    assert ends.states == (ends.after,)


def test_restored_is_what_was_deleted_at_the_first_position(world: Any) -> None:
    service = world.create("databaseService", "s", serviceType="Mysql")
    world.delete(service)
    deleted = world.log.head()
    world.restore(service)
    described(world, service, "more")
    (ends,) = both_ends(world, [service.id], deleted, world.log.head())

    assert ends.change() == "restored"
    assert [each.deleted for each in ends.states] == [True, False]


def test_change_of_what_is_cut_is_none(world: Any) -> None:
    service = world.create("databaseService", "s", serviceType="Mysql")
    before = world.log.head()
    described(world, service, "one")
    (ends,) = both_ends(world, [service.id], before, world.log.head())

    assert ends.change(lambda _: b'{"name":"s"}') is None
    assert ends.change(lambda shown: shown) == "changed"


@pytest.mark.parametrize("batch", [1, 2, 1_000])
def test_events_between_are_those_after_the_first_position(world: Any, batch: int) -> None:
    world.schema()
    head = world.log.head()
    for before in range(head + 1):
        for after in range(before, head + 1):
            parts = [*events_between(world.log, before, after, batch)]
            positions = [each.position for part in parts for each in part]
            assert positions == [*range(before + 1, after + 1)]
            assert all(len(part) <= batch for part in parts)


def below(world: Any, root: Root, *entities: Entity, before: int, after: int) -> list[str]:
    found = both_ends(world, [each.id for each in entities], before, after)
    return [ends.after.name for ends in found if root.holds(ends)]


def test_root_holds_what_was_below_its_name_of_then(world: Any) -> None:
    glossary = world.create("glossary", "g", description="")
    term = world.create("glossaryTerm", "t", glossary="g", description="")
    gone = world.create("glossaryTerm", "gone", glossary="g", description="")
    other = world.create("glossary", "gg", description="")
    team = world.create("team", "g", teamType="Group")
    before = world.log.head()
    world.delete(gone, hard=True)
    world.patch(glossary, {"op": "replace", "path": "/name", "value": "h"})
    late = world.create("glossaryTerm", "late", glossary="h", description="")
    after = world.log.head()
    claim = world.log.claim("glossary", "g")
    root = root_of(world.log, claim, before, after)
    entities = (glossary, term, other, team, late)
    every = (*entities, gone)

    assert root.names == ("g", "h")
    assert below(world, root, *every, before=before, after=after) == ["h", "t", "late", "gone"]
    ever = [each.name for each in entities if root.ever_holds(world.log.claim_by_id(each.id))]
    assert ever == ["g", "t", "late"]
    earlier = root_of(world.log, claim, 0, before)
    assert earlier.names == (None, "g")
    assert below(world, earlier, glossary, term, team, before=0, after=before) == ["g", "t"]


def test_root_holds_nothing_where_it_was_not_there_yet(world: Any) -> None:
    service = world.create("databaseService", "s", serviceType="Mysql")
    before = world.log.head()
    glossary = world.create("glossary", "g", description="")
    root = root_of(world.log, world.log.claim_by_id(glossary.id), 0, before)

    (ends,) = both_ends(world, [service.id], 0, before)
    assert root.names == (None, None)
    assert not root.holds(ends)


def test_states_are_those_of_each_position(world: Any) -> None:
    service = world.create("databaseService", "s", serviceType="Mysql")
    for number in range(4):
        described(world, service, str(number))
    positions = [each.position for each in world.log.stream(service.id)]
    found: list[Ends] = []
    for before in positions:
        for after in positions:
            if before <= after:
                found += both_ends(world, [service.id], before, after)
    versions = [(ends.before and ends.before.version, ends.after.version) for ends in found]
    assert versions == [(one, other) for one in range(1, 6) for other in range(one, 6)]


def test_readers_of_long_streams_may_pause(world: Any) -> None:
    service = world.create("databaseService", "s", serviceType="Mysql")
    for number in range(PAUSE + 1):
        described(world, service, str(number))
    found = [*ends_of(world.log, [service.id], 0, world.log.head())]

    assert [each and each.after.version for each in found] == [None, PAUSE + 2]
