"""Renames beside other writers, and of trees at random: nothing ends with a wrong name."""

import random
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.direct_catalog import DirectCatalog
from domain.aggregate.entity import MAX_FORMER_NAMES, Entity
from domain.errors import AlreadyExists, EntityOverLimit, InvalidInput, StaleVersion
from domain.event_store.appends import claim_of
from domain.event_store.checks import ClaimChecker, Problems, StreamReader
from domain.event_store.entity_reads import RecordedEvent
from domain.event_store.opening import open_event_log
from domain.event_store.port import EventStore
from domain.event_store.transfer import ExportReader, export
from domain.kinds.registry import KINDS
from projections.entities.projection import EntityProjection
from projections.entities.sqlite.model import open_read_model
from projections.feeding.projector import Projector
from tests.depth import examples
from tests.domain import folding
from tests.domain.conftest import World
from tests.domain.counted_store import CountedStore
from tests.domain.renamed_trees import Tree

OpenWorld = Callable[[], World]


def rename(world: World, entity: Entity, name: str) -> Entity:
    return world.patch(entity, {"op": "replace", "path": "/name", "value": name}).entity


def newest(log: EventStore, entity_id: str) -> Entity:
    state = folding.newest(log, entity_id)
    assert state is not None
    return state


def once(world: World, act: Callable[[], object]) -> None:
    """Do something as another writer, after the next plan has read the log."""

    def on_clock() -> None:
        world.on_clock = int
        act()

    world.on_clock = on_clock


@pytest.fixture
def glossary(world: World) -> Entity:
    return world.create("glossary", "g", description="")


def test_a_child_that_is_created_while_its_parent_is_renamed_follows(
    world: World, open_world: OpenWorld, glossary: Entity
) -> None:
    other = open_world()
    made: list[Entity] = []
    once(world, lambda: made.append(other.create("glossaryTerm", "t", glossary="g")))

    rename(world, glossary, "h")

    assert newest(world.log, made[0].id).fqn == "h.t"


def test_a_label_that_is_given_while_its_term_is_renamed_follows(
    world: World, open_world: OpenWorld, glossary: Entity
) -> None:
    term = world.create("glossaryTerm", "t", glossary="g")
    other = open_world()
    label = {"tagFQN": "g.t", "source": "Glossary"}
    made: list[Entity] = []

    def give() -> None:
        made.append(other.create("databaseService", "s", serviceType="Mysql", tags=[label]))

    once(world, give)

    rename(world, term, "u")

    assert [each["tagFQN"] for each in newest(world.log, made[0].id).value("tags")] == ["g.u"]


@pytest.mark.parametrize("what", ["child", "label", "reference"])
def test_what_was_planned_by_the_old_name_is_planned_again(
    world: World, open_world: OpenWorld, glossary: Entity, what: str
) -> None:
    term = world.create("glossaryTerm", "t", glossary="g")
    other = open_world()
    once(world, lambda: rename(other, glossary, "h"))

    if what == "child":
        made = world.create("glossaryTerm", "new", glossary="g", parent="g.t")
        assert newest(world.log, made.id).fqn == "h.t.new"
    elif what == "label":
        label = {"tagFQN": "g.t", "source": "Glossary"}
        made = world.create("databaseService", "s", serviceType="Mysql", tags=[label])
        assert newest(world.log, made.id).value("tags")[0]["tagFQN"] == "h.t"
    else:
        reference = {"type": "glossaryTerm", "id": term.id}
        made = world.create("glossaryTerm", "new", glossary="g", relatedTerms=[{"term": reference}])
        related = newest(world.log, made.id).value("relatedTerms")[0]["term"]
        assert related["fullyQualifiedName"] == "h.t"


def test_of_two_renames_at_once_the_second_follows_the_first(
    world: World, open_world: OpenWorld, glossary: Entity
) -> None:
    term = world.create("glossaryTerm", "t", glossary="g")
    other = open_world()
    once(world, lambda: rename(other, glossary, "h"))

    assert rename(world, term, "u").fqn == "h.u"

    assert newest(world.log, term.id).former_names == ("g.t", "h.t")


def test_a_name_that_is_taken_meanwhile_is_refused(
    world: World, open_world: OpenWorld, glossary: Entity
) -> None:
    other = open_world()
    once(world, lambda: other.create("glossary", "h", description=""))

    with pytest.raises(AlreadyExists, match="a glossary named 'h' exists already"):
        rename(world, glossary, "h")

    assert newest(world.log, glossary.id).fqn == "g"


@pytest.mark.parametrize(("bound", "most"), [("most_renamed", 2), ("most_renamed_bytes", 500)])
def test_a_rename_of_more_than_one_request_may_change_is_refused(
    world: World, glossary: Entity, bound: str, most: int
) -> None:
    for n in range(3):
        world.create("glossaryTerm", f"t{n}", glossary="g")
    setattr(world.catalog.planner, bound, most)

    with pytest.raises(InvalidInput, match=r"name: 3 entities or more, by changes of .* follow"):
        rename(world, glossary, "h")

    assert newest(world.log, glossary.id).fqn == "g"


def test_nothing_grows_beyond_its_bound_by_a_name(world: World, glossary: Entity) -> None:
    world.create("glossaryTerm", "t", glossary="g", description="x" * 9_999_700)

    with pytest.raises(EntityOverLimit):
        rename(world, glossary, "h" * 250)

    assert newest(world.log, glossary.id).fqn == "g"


def test_an_entity_keeps_a_bounded_number_of_names(world: World, glossary: Entity) -> None:
    term = world.create("glossaryTerm", "t", glossary="g")
    for n in range(MAX_FORMER_NAMES - 1):
        glossary = rename(world, glossary, f"g{n}")
    rename(world, term, "u")

    said = r"glossaryTerm 'g98\.u' had 100 other names before, .* it may have one of them again"
    with pytest.raises(InvalidInput, match=said):
        rename(world, glossary, "h")

    rename(world, term, "t")
    assert rename(world, glossary, "g").fqn == "g"
    assert newest(world.log, term.id).fqn == "g.t"


def test_a_rename_on_another_version_is_refused_before_the_log_is_searched(
    world: World, glossary: Entity
) -> None:
    counted = CountedStore(world.log)
    catalog = DirectCatalog(counted, now=world.now)
    patch = [{"op": "replace", "path": "/name", "value": "h"}]

    with pytest.raises(StaleVersion):
        catalog.patch(KINDS["glossary"], glossary.id, patch, world.context(expected_version=7))

    assert "mentioning" not in counted.names


def test_a_rename_that_another_writer_was_before_searches_the_rest_of_the_log(
    world: World, open_world: OpenWorld, glossary: Entity
) -> None:
    other, counted = open_world(), CountedStore(world.log)
    catalog = DirectCatalog(counted, now=world.now)
    head = world.log.head()
    once(world, lambda: other.create("glossaryTerm", "t", glossary="g"))
    patch = [{"op": "replace", "path": "/name", "value": "h"}]

    catalog.patch(KINDS["glossary"], glossary.id, patch, world.context())

    searches = [values for name, values in counted.calls if name == "mentioning"]
    assert searches == [{"after": 0}, {"after": head}]
    claims = world.log.claims(parents=[glossary.id])
    assert [each.fqn for each in claims] == ["h.t"]


class CountedStreams(CountedStore):
    """A store that counts the events of the streams that are read from it."""

    folded = 0

    def streams(self, *spans: Any, **bounds: Any) -> Iterator[RecordedEvent]:
        for each in self.store.streams(*spans, **bounds):
            self.folded += 1
            yield each


def test_a_rename_reads_no_more_events_after_many(world: World, glossary: Entity) -> None:
    for number in range(20):
        world.create("glossaryTerm", f"t{number}", glossary="g")
    planned, projected = CountedStreams(world.log), CountedStreams(world.log)
    catalog = DirectCatalog(planned, now=world.now)  # type: ignore[arg-type]
    with closing(open_read_model(world.path.with_name("entities.db"))) as model:
        projector = Projector(EntityProjection(model), projected, batch_size=500)  # type: ignore[arg-type]
        read = []
        for number in range(8):
            patch = [{"op": "replace", "path": "/name", "value": f"h{number}"}]
            catalog.patch(KINDS["glossary"], glossary.id, patch, world.context())
            while projector.step():
                pass
            read.append((planned.folded, projected.folded))
            planned.folded = projected.folded = 0

    # A plan reads what the rename before it appended: two events of each term.
    assert read[2:] == [(2 * 20 + 1, 0)] * 6


def test_a_log_that_no_release_has_renamed_in_is_read_as_it_is(
    world: World, glossary: Entity
) -> None:
    world.log.close()

    with closing(sqlite3.connect(world.path)) as connection:
        for trigger in ("claims_take", "claims_retake"):
            connection.execute(f"DROP TRIGGER {trigger}")
        connection.execute("DROP TABLE former_names")
        connection.execute("DROP TABLE renames")

    with closing(open_event_log(world.path, writable=False)) as log:
        claim = log.claim("glossary", "g")
        assert claim is not None
        assert claim.id == glossary.id
        assert log.claim("glossary", "h") is None
        with log.snapshot() as snapshot:
            assert [each.fqn for each in snapshot.claims()] == ["g"]


@settings(max_examples=examples(200), deadline=None)
@given(seed=st.integers(0, 2**32))
def test_random_trees_are_called_as_a_model_says(seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder) / "events.db")
        tree = Tree(random.Random(seed), world)
        for _ in range(40):
            tree.step()
        assert_as_the_model(tree, world.log)
        with closing(open_event_log(Path(folder) / "copy.db")) as copy:
            with world.log.snapshot() as snapshot:
                lines = [*export(world.log, snapshot)]
            assert [*copy.restore(ExportReader(lines, "file").rows())] or not lines[2:]
            assert_as_the_model(tree, copy)
        world.log.close()


def assert_as_the_model(tree: Tree, log: EventStore) -> None:
    """Every name of everything leads to it, and to nothing else, and claims follow from events."""
    for entity_id, kind in tree.kinds.items():
        entity = newest(log, entity_id)
        assert entity.fqn == tree.fqn(entity_id)
        assert set(entity.former_names) == tree.aliases[entity_id]
        for fqn in (entity.fqn, *entity.former_names):
            claim = log.claim(kind, fqn)
            assert claim == claim_of(entity)
    for holder, named in tree.labels.items():
        assert newest(log, holder).value("tags")[0]["tagFQN"] == tree.fqn(named)
    for which, team in tree.owned.items():
        (owner,) = newest(log, which).value("owners")
        assert owner["fullyQualifiedName"] == tree.fqn(team)
        assert owner["name"] == tree.names[team]
    problems = Problems(3)
    with log.snapshot() as snapshot:
        checker = ClaimChecker(snapshot.claims(), problems)
        reader = StreamReader(problems, now=10_000)
        for entity_id, rows in groupby(snapshot.streams(), itemgetter(0)):
            checker.meet(entity_id, reader.read(rows))
        checker.finish()
    assert problems.lowest() == []
