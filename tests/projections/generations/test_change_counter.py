"""Readers of the process that makes all changes know without looking that there were none."""

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from domain.errors import StoreUnavailable
from projections.entities.port import SortedReadModel
from projections.generations.current_generation import CurrentGeneration
from projections.generations.port import ChangeCounter, Pointer
from projections.wiring.local_read_models import entities_definition
from tests.projections.read_models import create, opened, rebuild, step


@contextmanager
def counted(
    directory: Path,
) -> Iterator[tuple[CurrentGeneration[SortedReadModel], ChangeCounter]]:
    """A reader of the sorted read model that is told of changes by a counter."""
    definition, changes = entities_definition(directory), ChangeCounter()
    with (
        opened(directory) as stores,
        closing(CurrentGeneration(definition, stores.log, changes)) as reader,
    ):
        yield reader, changes


def test_number_is_not_told_while_a_change_is_made() -> None:
    changes = ChangeCounter()
    numbers = [changes.number()]
    with suppress(StoreUnavailable), changes.changing():
        numbers.append(changes.number())
        raise StoreUnavailable("nothing was committed")
    numbers.append(changes.number())

    assert numbers == [0, None, 1]


def test_number_of_a_kind_is_that_of_the_last_change_that_may_concern_it() -> None:
    changes = ChangeCounter()

    def numbers() -> tuple[int | None, ...]:
        return changes.number(), changes.number("table"), changes.number("team")

    seen = [numbers()]
    for kinds in ({"table"}, None, {"team", "user"}):
        with changes.changing(kinds):
            seen.append(numbers())
        seen.append(numbers())

    assert seen == [
        *((0, 0, 0), (None, None, 0)),
        *((1, 1, 0), (None, None, None)),
        *((2, 2, 2), (None, 2, None)),
        (3, 2, 3),
    ]


def test_change_of_some_kinds_within_a_general_one_leaves_that_one_under_way() -> None:
    changes = ChangeCounter()
    with changes.changing():
        with changes.changing({"table"}):
            pass
        within = changes.number("table"), changes.number("team")

    assert within == (None, None)
    assert changes.number("table") == changes.number("team") == changes.number() == 2


def test_revision_of_a_kind_is_another_after_its_commits_and_switches(directory: Path) -> None:
    with opened(directory) as stores:
        seen = [(stores.entities.revision("databaseService"), stores.entities.revision("table"))]
        for change in (lambda: create(stores, "d"), lambda: rebuild(stores)):
            change()
            step(stores)
            seen.append(
                (stores.entities.revision("databaseService"), stores.entities.revision("table"))
            )

    services, tables = zip(*seen, strict=True)
    assert len(set(services)) == 3
    assert tables[0] == tables[1] != tables[2]


@pytest.mark.parametrize("writable", [True, False])
def test_revision_is_another_after_each_commit_and_each_switch(
    directory: Path, writable: bool
) -> None:
    """The same holds for a process that has to look at the files."""
    with opened(directory) as stores, opened(directory, writable=False) as other:
        reader = stores if writable else other
        seen = []
        for change in (lambda: create(stores, "d"), lambda: rebuild(stores)):
            seen.append((reader.entities.revision(), reader.engine.revision()))
            assert reader.entities.revision() == seen[-1][0]
            change()
            step(stores)
        seen.append((reader.entities.revision(), reader.engine.revision()))

    entities, engine = zip(*seen, strict=True)
    assert len(set(entities)) == len(set(engine)) == 3


def test_revision_during_a_change_is_none_of_before_or_after(directory: Path) -> None:
    with counted(directory) as (reader, changes):
        before = reader.revision()
        with changes.changing():
            within = reader.revision()
        after = reader.revision()

    assert len({before, within, after}) == 3


def test_pointer_is_not_looked_at_again_before_something_changes(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(directory) as stores:
        looks = []
        look = stores.entities.generations.revision
        monkeypatch.setattr(
            stores.entities.generations, "revision", lambda of: (looks.append(1), look(of))[1]
        )
        for _ in range(5):
            stores.entities.revision()
            with stores.entities.use() as model:
                assert model.count() == 3
        assert len(looks) <= 1
        create(stores, "d")
        step(stores)
        with stores.entities.use() as model:
            assert model.count() == 4


def test_refused_read_model_has_no_revision(directory: Path) -> None:
    with counted(directory) as (reader, changes):
        reader.revision()
        with changes.changing():
            generations = reader.generations
            generations.point(
                Pointer(refused="it is tested"), instead_of=generations.revision("pointer")
            )

        for read in (reader.revision, reader.checkpoint):
            with pytest.raises(StoreUnavailable, match="it is tested"):
                read()
