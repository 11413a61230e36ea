"""The paths that an index searches follow from the log alone, however it came to be."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from domain.errors import InvalidInput
from domain.kinds.registry import KINDS
from projections.feeding.projector import Projector
from projections.search import bulk_build
from projections.search.engine import EngineQuery, SearchedPaths
from projections.search.index.engine import WhooshEngine
from projections.search.language.field_types import is_declared
from projections.search.projection import SearchProjection
from projections.search.searched_paths import MAX_BYTES, PATH_BYTES
from projections.search.tree import Exists
from tests.brief_engines import brief_engine
from tests.depth import first_alone
from tests.projections.conftest import Fixture
from tests.projections.read_models import ME


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Fixture]:
    fixture = Fixture(tmp_path)
    yield fixture
    fixture.close()


def grown(catalog: Fixture, batch_size: int) -> WhooshEngine:
    engine = brief_engine()
    projector = Projector(SearchProjection(engine), catalog.log, batch_size=batch_size)
    while projector.step():
        pass
    return engine


def built(catalog: Fixture) -> WhooshEngine:
    engine = brief_engine()
    bulk_build.load(engine, catalog.log, lambda done, total: None)
    return engine


def change(catalog: Fixture, table: Any, extension: dict[str, Any]) -> None:
    patch = [{"op": "add", "path": "/extension", "value": extension}]
    catalog.catalog.patch(KINDS["table"], table.entity.id, patch, ME)


def having(engine: WhooshEngine, path: str) -> set[str]:
    hits = engine.search(EngineQuery(tree=Exists(path), size=100, include_deleted=True)).hits
    return {hit.id for hit in hits}


def fill(catalog: Fixture, left: int) -> str:
    """A path that leaves room for so many paths of 11 characters."""
    taken = len("extension.") + (left + 1) * PATH_BYTES + left * 11
    key = "f" * (MAX_BYTES - taken)
    catalog.table("filler", extension={key: 1})
    return f"extension.{key}"


def test_paths_are_chosen_in_the_order_of_the_log_until_one_does_not_fit(catalog: Fixture) -> None:
    catalog.schema()
    filler = fill(catalog, 4)
    catalog.table("one", extension={"b": 1, "c": {"d": 1}})
    catalog.table("two", extension={"b": 2, "a": 2, "long" * 9: 2})
    catalog.table("three", extension={"z": 3})
    for engine in (built(catalog), grown(catalog, 1), grown(catalog, 100)):
        chosen = (filler, "extension.b", "extension.c.d", "extension.a")
        assert engine.searched() == SearchedPaths(chosen, full=True)
        assert len(having(engine, "extension.b")) == 2
        assert len(having(engine, "name")) >= 3
        with pytest.raises(InvalidInput, match=r"'extension\.z' is not searched"):
            having(engine, "extension.z")


def test_paths_of_states_that_a_batch_passes_over_and_of_the_purged_count(catalog: Fixture) -> None:
    catalog.schema()
    filler = fill(catalog, 2)
    table = catalog.table("one", extension={"a": 1})
    change(catalog, table, {"b": 1})
    change(catalog, table, {"c": 1})
    catalog.delete(table, hard=True)
    catalog.table("two", extension={"a": 1, "c": 1})
    for engine in (built(catalog), grown(catalog, 1), grown(catalog, 100)):
        assert engine.searched() == SearchedPaths((filler, "extension.a", "extension.b"), full=True)
        assert len(having(engine, "extension.a")) == 1


@pytest.mark.parametrize("seed", first_alone(*range(6)))
def test_index_built_anew_searches_what_a_grown_one_does(catalog: Fixture, seed: int) -> None:
    chance = random.Random(seed)
    catalog.schema()
    fill(catalog, chance.choice((0, 3, 8, 100)))
    tables: list[Any] = []

    def keys() -> dict[str, Any]:
        return {chance.choice("abcdefghijkl"): chance.randrange(3) for _ in range(3)}

    for number in range(40):
        action = chance.random()
        if action < 0.4 or not tables:
            column = {"name": "c", "dataType": "INT", "extension": keys()}
            tables.append(catalog.table(f"t{number}", extension=keys(), columns=[column]))
        elif action < 0.7:
            change(catalog, chance.choice(tables), keys())
        elif action < 0.8:
            patch = [
                {"op": "add", "path": f"/columns/0/extension/{chance.choice('mno')}", "value": 1}
            ]
            catalog.catalog.patch(KINDS["table"], chance.choice(tables).entity.id, patch, ME)
        else:
            catalog.delete(tables.pop(chance.randrange(len(tables))), hard=chance.random() < 0.5)
    anew = built(catalog)
    for engine in (grown(catalog, 1), grown(catalog, 7), grown(catalog, 100)):
        assert engine.searched() == anew.searched()
        for path in ("name", "columns.name", *anew.searched().paths):
            assert having(engine, path) == having(anew, path)


def test_load_that_is_resumed_has_the_paths_of_the_one_that_ended(catalog: Fixture) -> None:
    catalog.schema()
    for name in "abc":
        catalog.table(name, extension={name: 1})
    engine = brief_engine()

    class Ended(Exception):
        pass

    def end(done: int, total: int) -> None:
        raise Ended

    with pytest.raises(Ended):
        bulk_build.load(engine, catalog.log, end, most_states=1)
    bulk_build.load(engine, catalog.log, lambda done, total: None)
    assert engine.searched() == SearchedPaths(("extension.a", "extension.b", "extension.c"))


def test_declared_paths_take_no_room(catalog: Fixture) -> None:
    catalog.schema()
    filler = fill(catalog, 0)
    catalog.table("one", description="x", tags=[], columns=[{"name": "c", "dataType": "INT"}])
    assert grown(catalog, 10).searched() == SearchedPaths((filler,))
    assert is_declared("columns.name")
    assert not is_declared("extension.a")


def test_the_first_path_that_does_not_fit_is_logged_once(
    catalog: Fixture, caplog: pytest.LogCaptureFixture
) -> None:
    catalog.schema()
    filler = fill(catalog, 1)
    for name in "abc":
        catalog.table(name, extension={name: 1})
    assert grown(catalog, 1).searched() == SearchedPaths((filler, "extension.a"), full=True)
    assert [r.message for r in caplog.records if r.name == "catalog.search"] == [
        "search takes no more undeclared paths"
    ]
