"""Calls of the event store for a write: in another database, each call is a round trip."""

from typing import Any

import pytest

from benchmarks.direct_catalog import DirectCatalog
from tests.domain.counted_store import CountedStore

TABLES = 200


@pytest.fixture
def counted(world: Any) -> CountedStore:
    """The store of a catalog that begins with nothing remembered; call it where it counts."""
    return CountedStore(world.log)


def begin(world: Any, counted: CountedStore) -> None:
    """Let a catalog without any states in memory go on."""
    world.catalog = DirectCatalog(counted, now=world.now)
    counted.calls.clear()


def test_patch_with_owners_and_tags_looks_them_up_together(
    world: Any, counted: CountedStore
) -> None:
    world.schema()
    table = world.table("t")
    people = [world.create("user", f"u{n}", email=f"u{n}@example.org") for n in range(3)]
    world.create("classification", "PII", description="-")
    tags = [world.create("tag", f"t{n}", classification="PII", description="-") for n in range(5)]
    owners = [
        {"id": people[0].id, "type": "user"},
        *({"fullyQualifiedName": p.fqn} for p in people),
    ]

    begin(world, counted)
    changed = world.patch(
        table,
        {"op": "add", "path": "/owners", "value": owners},
        {"op": "add", "path": "/tags", "value": [{"tagFQN": tag.fqn} for tag in tags]},
    ).entity

    assert [owner["id"] for owner in changed.value("owners")] == [one.id for one in people]
    assert [tag["tagFQN"] for tag in changed.value("tags")] == [tag.fqn for tag in tags]
    # The table, all that it refers to, the schema of which it inherits, the classification, which
    # may be mutually exclusive, and the append.
    assert counted.names == ["streams", "claims", "streams", "claims", "streams", "append_group"]


def test_patch_looks_up_only_what_it_newly_refers_to(world: Any, counted: CountedStore) -> None:
    world.schema()
    table = world.table("t")
    begin(world, counted)
    world.patch(table, {"op": "add", "path": "/description", "value": "new"})
    # The table, the schema of which it inherits, and the append.
    assert counted.names == ["streams", "streams", "append_group"]


def test_creation_and_put_look_up_little(world: Any, counted: CountedStore) -> None:
    schema = world.schema()
    begin(world, counted)
    world.table("t", owners=[])
    assert counted.names == ["claims", "streams", "append_group"]
    begin(world, counted)
    world.put("table", "t", databaseSchema=schema.fqn, columns=[], description="new")
    assert counted.names == ["claims", "streams", "streams", "append_group"]


@pytest.mark.parametrize("hard", [False, True], ids=["soft", "hard"])
def test_recursive_delete_and_restore_read_level_by_level(
    world: Any, counted: CountedStore, hard: bool
) -> None:
    world.schema()
    for number in range(TABLES):
        world.table(f"t{number:03}")
    service = world.put("databaseService", "service", serviceType="Mysql").entity
    head = world.log.head()

    begin(world, counted)
    world.delete(service, hard=hard, recursive=True)

    assert len(world.events(after=head)) == TABLES + 3
    # The service; the levels below it, the last of which is empty; of what is gone for good, the
    # edges of the lineage; their states; the append.
    levels = ["claims"] * (5 if hard else 4)
    assert counted.names == ["streams", *levels, "streams", "append_group"]
    if not hard:
        begin(world, counted)
        world.restore(service)
        assert counted.names == ["streams", *levels, "streams", "append_group"]
        assert set(world.lives().values()) == {True}
