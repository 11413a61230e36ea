"""Many PUTs in one transaction come to what they would come to one after the other."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.direct_catalog import DirectCatalog
from domain.errors import CatalogError, InvalidInput, StoreUnavailable
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import KINDS
from domain.writing.bulk_put import Done
from domain.writing.plans import Change
from tests.depth import examples
from tests.domain.conftest import World
from tests.domain.counted_store import CountedStore
from tests.domain.faulty_store import FaultyStore

TERM = KINDS["glossaryTerm"]
Request = dict[str, Any]


def anything(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Takes every request as it is."""
    return values


def put_all(
    world: Any,
    requests: list[Request],
    kind: EntityKind = TERM,
    taken: Callable[[Mapping[str, Any]], Mapping[str, Any]] = anything,
) -> list[Done | CatalogError]:
    """Put requests in one transaction."""
    context = world.context()
    _, results = world.catalog.until_stored(
        lambda: world.catalog.propose_puts(kind, requests, context, taken)
    )
    return results


def put_each(world: Any, requests: list[Request]) -> list[Done | CatalogError]:
    """Put requests one after the other."""
    results: list[Done | CatalogError] = []
    for request in requests:
        try:
            outcome = world.catalog.put(TERM, request, world.context())
        except CatalogError as error:
            results.append(error)
        else:
            results.append(Done(outcome.entity, outcome.change))
    return results


def told(results: list[Done | CatalogError]) -> list[Any]:
    """Results without what differs from one world to another."""
    return [
        (one.entity.fqn, one.entity.version, one.entity.stream_version, one.change)
        if isinstance(one, Done)
        else (type(one), one.message)
        for one in results
    ]


def prepare(world: Any) -> None:
    """A glossary with a term, a soft-deleted one with a child, and a deleted child."""
    world.create("glossary", "g", description="-")
    for name, parent in (("old", None), ("gone", None), ("below", "g.gone")):
        values = {"parent": parent} if parent else {}
        world.create("glossaryTerm", name, glossary="g", description="-", **values)
    gone = world.put("glossaryTerm", "gone", glossary="g", description="-").entity
    world.delete(gone, recursive=True)


NAMES = ("a", "b", "old", "gone", "below")
PARENTS = ("g.a", "g.a.b", "g.old", "g.gone", "g.none")
REQUESTS = st.fixed_dictionaries(
    {
        "name": st.sampled_from((*NAMES, "", 3)),
        "glossary": st.sampled_from(("g", "g", "g", "none")),
    },
    optional={
        "description": st.sampled_from(("-", "x", "y", None)),
        "parent": st.sampled_from(PARENTS),
        "relatedTerms": st.lists(st.sampled_from(PARENTS), max_size=2),
    },
)


@settings(max_examples=examples(60), deadline=None)
@given(requests=st.lists(REQUESTS, max_size=8))
def test_bulk_put_is_what_puts_one_after_the_other_are(
    tmp_path_factory: pytest.TempPathFactory, requests: list[Request]
) -> None:
    directory = tmp_path_factory.mktemp("worlds")
    worlds = [World(directory / f"{name}.db") for name in ("all", "each")]
    try:
        for world in worlds:
            prepare(world)
        assert told(put_all(worlds[0], requests)) == told(put_each(worlds[1], requests))
        assert worlds[0].events() == worlds[1].events()
        assert worlds[0].lives() == worlds[1].lives()
        assert told(put_each(worlds[0], requests)) == told(put_each(worlds[1], requests))
    finally:
        for world in worlds:
            world.log.close()


def test_requests_are_one_append(world: Any) -> None:
    world.create("glossary", "g", description="-")
    counted = CountedStore(world.log)
    world.catalog = DirectCatalog(counted, now=world.now)
    results = put_all(
        world, [{"name": f"t{n}", "glossary": "g", "description": "-"} for n in range(50)]
    )
    assert {one.change for one in results if isinstance(one, Done)} == {Change.CREATED}
    assert counted.names.count("append_group") == 1
    # The glossary, and whether the names are taken, are looked up once.
    assert len(counted.names) <= 8


def test_what_is_there_already_is_read_together(world: Any) -> None:
    world.create("glossary", "g", description="-")
    requests = [{"name": f"t{n}", "glossary": "g", "description": "-"} for n in range(50)]
    put_all(world, requests)
    counted = CountedStore(world.log)
    world.catalog = DirectCatalog(counted, now=world.now)
    results = put_all(world, [*requests, {**requests[0], "description": "new"}])
    changes = [one.change for one in results if isinstance(one, Done)]
    assert changes == [Change.NO_CHANGE] * 50 + [Change.UPDATED]
    assert len(counted.names) <= 10


def test_refused_request_changes_nothing(world: Any) -> None:
    world.create("glossary", "g", description="-")

    def taken(values: Mapping[str, Any]) -> Mapping[str, Any]:
        if values["name"] == "b":
            raise InvalidInput("no")
        return values

    requests = [{"name": name, "glossary": "g", "description": "-"} for name in "abc"]
    requests.append({"name": "d", "glossary": "g", "parent": "g.b", "description": "-"})
    results = put_all(world, requests, taken=taken)
    assert [type(one).__name__ for one in results] == ["Done", "InvalidInput", "Done", "NotFound"]
    assert [name for _, name in world.events()] == ["g", "a", "c"]


def test_loser_of_a_race_is_decided_again_as_a_whole(world: Any, open_world: Any) -> None:
    world.create("glossary", "g", description="-")
    other = open_world()

    def rival() -> None:
        world.on_clock = int
        other.create("glossaryTerm", "b", glossary="g", description="theirs")

    world.on_clock = rival
    results = put_all(
        world, [{"name": name, "glossary": "g", "description": "ours"} for name in "ab"]
    )
    changes = [one.change for one in results if isinstance(one, Done)]
    assert changes == [Change.CREATED, Change.UPDATED]
    assert world.events()[1:] == [
        ("entity.created", "b"),
        ("entity.created", "a"),
        ("entity.changed", "b"),
    ]


def test_what_cannot_be_read_or_stored_fails_all(world: Any) -> None:
    world.create("glossary", "g", description="-")
    for method in ("claims", "append_group"):
        faulty = FaultyStore(world.log, {method: [StoreUnavailable("the disk is full")]})
        world.catalog = DirectCatalog(faulty, now=world.now)  # type: ignore[arg-type]
        with pytest.raises(StoreUnavailable):
            put_all(world, [{"name": "a", "glossary": "g", "description": "-"}])
    assert len(world.events()) == 1


def test_changes_of_large_entities_end_where_their_states_have_too_many_bytes(world: Any) -> None:
    prepare(world)
    large = {"name": "old", "glossary": "g", "description": "x" * 5_000_000}
    put_all(world, [large])
    requests = [{**large, "displayName": f"change {number}"} for number in range(25)]

    results = put_all(world, [*requests, {"name": "new", "glossary": "g", "description": "-"}])

    *changed, last = results[:20]
    assert {one.change for one in changed if isinstance(one, Done)} == {Change.UPDATED}
    assert len(changed) == 19
    refusals = [one for one in (last, *results[20:-1]) if isinstance(one, InvalidInput)]
    assert len(refusals) == 6
    assert "100000000 bytes" in refusals[0].message
    assert isinstance(results[-1], Done)
    (again,) = put_all(world, requests[19:20])
    assert isinstance(again, Done)
