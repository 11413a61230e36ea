"""Entities below a scope that were not seen, whatever they stand below."""

from typing import Any

import pytest

from domain.errors import InvalidInput
from domain.kinds.registry import KINDS
from domain.writing.stale_entities import StaleEntity, StaleSearch, scope_kind
from tests.domain.counted_store import CountedStore

TABLE, CONTAINER, CONTRACT = KINDS["table"], KINDS["container"], KINDS["dataContract"]


def found(world: Any, kind: Any, scope: Any, *seen: str, **bounds: int) -> list[StaleEntity]:
    """Return the result of a search that is looked on one page at a time."""
    search = StaleSearch(world.log, kind, world.log.claim_by_id(scope.id), seen)
    for name, value in bounds.items():
        setattr(search, name, value)
    while search.look_on(1):
        pass
    return search.stale


def fqns(stale: list[StaleEntity]) -> list[str]:
    return [one.fqn for one in stale]


def test_scope_is_a_kind_above() -> None:
    above = ("databaseService", "database", "databaseSchema")
    assert [scope_kind(TABLE, name).name for name in above] == [*above]
    assert scope_kind(CONTAINER, "container") is CONTAINER
    assert scope_kind(CONTRACT, "table") is TABLE


@pytest.mark.parametrize(
    ("kind", "service"),
    [
        ("table", "databaseService"),
        ("storedProcedure", "databaseService"),
        ("chart", "dashboardService"),
        ("container", "storageService"),
        ("apiEndpoint", "apiService"),
    ],
)
def test_service_is_the_kind_of_service_that_entities_belong_to(kind: str, service: str) -> None:
    assert scope_kind(KINDS[kind], "service").name == service


@pytest.mark.parametrize(
    ("kind", "scope"),
    [
        ("table", "table"),
        ("table", "dashboardService"),
        ("table", "tables"),
        ("dataContract", "service"),
    ],
)
def test_scope_that_has_none_of_the_kind_below_it_is_refused(kind: str, scope: str) -> None:
    with pytest.raises(InvalidInput, match=f"^scopeEntityType of .* may be .*, got '{scope}'$"):
        scope_kind(KINDS[kind], scope)


def test_live_entities_that_were_not_seen_are_found_at_any_depth(world: Any) -> None:
    schema = world.schema()
    tables = {name: world.table(name) for name in ("one", "two", "three", "gone")}
    world.delete(tables["gone"])
    other = world.create("databaseSchema", "other", database="service.database")
    elsewhere = world.table("four", databaseSchema=other.fqn)
    seen = tables["two"].fqn

    below_schema = [tables["one"].fqn, tables["three"].fqn]
    assert fqns(found(world, TABLE, schema, seen)) == below_schema
    for above, name in (("databaseService", "service"), ("database", "service.database")):
        scope = world.log.claim(above, name)
        assert fqns(found(world, TABLE, scope, seen)) == [elsewhere.fqn, *below_schema]


def test_quotes_make_no_difference_and_case_does(world: Any) -> None:
    schema = world.schema()
    plain, dotted = world.table("Plain"), world.table("a.b")
    assert found(world, TABLE, schema, '"service".database.schema."Plain"', dotted.fqn) == []
    missed = (plain.fqn.lower(), "service.database.schema.a.b")
    assert fqns(found(world, TABLE, schema, *missed)) == [dotted.fqn, plain.fqn]


@pytest.mark.parametrize("name", ["", ".", ".....", "service.", "a..b", 'service."', '""', 'a"b'])
def test_name_that_is_none_is_refused(world: Any, name: str) -> None:
    schema = world.schema()
    with pytest.raises(InvalidInput, match="is not a qualified name"):
        found(world, TABLE, schema, "service.database.schema.seen", name)


def test_new_entities_were_seen_by_the_former_names_of_all_above_them(world: Any) -> None:
    glossary = world.create("glossary", "G", description="A glossary.")
    term = world.create("glossaryTerm", "T", glossary="G", description="A term.")
    world.patch(glossary, {"op": "replace", "path": "/name", "value": "H"})
    world.create("glossaryTerm", "N", glossary="G", description="A term.")
    world.patch(term, {"op": "replace", "path": "/name", "value": "U"})
    world.create("glossaryTerm", "M", glossary="H", parent="H.T", description="A term.")
    world.create("glossaryTerm", "gone", glossary="H", description="A term.")

    seen = ("G.T", "G.N", "G.T.M")
    assert fqns(found(world, KINDS["glossaryTerm"], glossary, *seen)) == ["H.gone"]
    assert fqns(found(world, KINDS["glossaryTerm"], glossary, "G.N", "H.T.M")) == ["H.U", "H.gone"]


def test_what_stands_above_a_seen_entity_is_kept_for_it(world: Any) -> None:
    service = world.create("storageService", "s3", serviceType="S3")
    top = world.create("container", "top", service="s3")
    mid = world.create("container", "mid", parent=top.fqn)
    deep = world.create("container", "deep", parent=mid.fqn)
    lone = world.create("container", "lone", parent=top.fqn)

    stale = {one.fqn: one.kept_for for one in found(world, CONTAINER, service, deep.fqn)}
    assert stale == {top.fqn: deep.fqn, mid.fqn: deep.fqn, lone.fqn: None}
    # Those above others come first, so that what goes with them is not deleted twice.
    assert fqns(found(world, CONTAINER, service, "s3.x")) == [top.fqn, lone.fqn, mid.fqn, deep.fqn]


def test_pages_end_where_they_are_full(world: Any) -> None:
    schema = world.schema()
    for number in range(4):
        world.table(f"t{number}")
    assert fqns(found(world, TABLE, schema, f"{schema.fqn}.t2", page=2)) == [
        f"{schema.fqn}.t{number}" for number in (0, 1, 3)
    ]


def test_each_step_reads_one_page(world: Any) -> None:
    schema = world.schema()
    for number in range(5):
        world.table(f"t{number}")
    log = CountedStore(world.log)
    search = StaleSearch(log, TABLE, world.log.claim_by_id(schema.id), ())  # type: ignore[arg-type]
    search.page = 2
    assert (search.look_on(1), log.names) == (True, ["live_children"])
    assert search.look_on(2)
    assert (search.look_on(1), len(search.stale), len(log.calls)) == (False, 5, 3)


def test_more_than_may_be_stale_are_refused(world: Any) -> None:
    schema = world.schema()
    for name in ("one", "two"):
        world.table(name)
    assert len(found(world, TABLE, schema, most=2)) == 2
    world.table("three")
    with pytest.raises(InvalidInput, match="more than 2 tables there are not among seenFqns"):
        found(world, TABLE, schema, most=2)
