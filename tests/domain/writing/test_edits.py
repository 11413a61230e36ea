"""Edits are made on the newest state, and refused where it is not what they name."""

from functools import partial
from typing import Any

import pytest

from domain.aggregate.entity import Entity
from domain.errors import CatalogError, InvalidInput, NotFound, StaleVersion
from domain.events import Via
from domain.kinds.registry import KINDS
from domain.writing.edits import Act, Edit, Unresolved
from tests.domain.conftest import World

COLUMNS = [
    {"name": "id", "dataType": "INT"},
    {
        "name": "place",
        "dataType": "STRUCT",
        "children": [{"name": "zip.code", "dataType": "INT", "description": "The code."}],
    },
]


@pytest.fixture
def table(world: World) -> Entity:
    world.schema()
    world.create("user", "ann", email="ann@example.org")
    world.create("user", "bob", email="bob@example.org")
    world.create("team", "crew", teamType="Group")
    world.create("team", "bob", teamType="Group")
    world.create("classification", "PII", description="d")
    world.create("tag", "Email", classification="PII", description="d")
    world.create("glossary", "Business", description="d")
    world.create("glossaryTerm", "Order", glossary="Business", description="d")
    world.create("domain", "Sales", domainType="Aggregate", description="d")
    return world.create(
        "table",
        "orders",
        databaseSchema="service.database.schema",
        columns=COLUMNS,
        description="Orders, and orders.",
    )


def edit(world: World, table: Entity, *edits: Edit, **context: Any) -> Entity:
    given = world.context(**context)
    plan = partial(world.catalog.planner.edit, KINDS[table.kind], table.id, edits, given)
    return world.catalog.write(given, plan).entity


def one(act: Act, *named: str, **fields: Any) -> Edit:
    return Edit(act=act, names=named, **fields)


def test_texts_are_appended_replaced_and_set(world: World, table: Entity) -> None:
    after = edit(world, table, one(Act.APPEND_DESCRIPTION, text="More."))
    assert after.value("description") == "Orders, and orders.\n\nMore."
    after = edit(world, table, one(Act.REPLACE_IN_DESCRIPTION, old="More", text="Less"))
    assert after.value("description") == "Orders, and orders.\n\nLess."
    whole = after.value("description")
    after = edit(world, table, one(Act.SET_DESCRIPTION, replaces=whole, text="New."))
    assert after.value("description") == "New."
    after = edit(world, table, one(Act.SET_DISPLAY_NAME, replaces="", text="The orders"))
    assert after.value("displayName") == "The orders"
    after = edit(world, table, one(Act.SET_DISPLAY_NAME, replaces="The orders"))
    assert "displayName" not in after.body


def test_lists_are_changed_by_names(world: World, table: Entity) -> None:
    after = edit(
        world,
        table,
        one(Act.ADD_OWNERS, "ann", "crew"),
        one(Act.ADD_TAGS, "PII.Email"),
        one(Act.ADD_TERMS, "Business.Order"),
        one(Act.ADD_DOMAINS, "Sales"),
    )
    assert [each["fullyQualifiedName"] for each in after.value("owners")] == ["ann", "crew"]
    assert [(each["source"], each["tagFQN"]) for each in after.value("tags")] == [
        ("Classification", "PII.Email"),
        ("Glossary", "Business.Order"),
    ]
    assert [each["fullyQualifiedName"] for each in after.value("domains")] == ["Sales"]
    # What is there stays as it is, and is not there twice.
    again = edit(world, table, one(Act.ADD_OWNERS, "ann"), one(Act.ADD_TAGS, "PII.Email"))
    assert again.version == after.version
    after = edit(
        world, table, one(Act.REMOVE_OWNERS, "ann"), one(Act.REMOVE_TERMS, "Business.Order")
    )
    assert [each["fullyQualifiedName"] for each in after.value("owners")] == ["crew"]
    assert [each["tagFQN"] for each in after.value("tags")] == ["PII.Email"]


def test_columns_are_changed_by_their_names(world: World, table: Entity) -> None:
    nested = 'place."zip.code"'
    after = edit(
        world,
        table,
        one(Act.APPEND_DESCRIPTION, column=nested, text="Of five digits."),
        one(Act.ADD_TAGS, "PII.Email", column=nested),
        one(Act.SET_DESCRIPTION, column="id", replaces="", text="The key."),
    )
    columns = after.value("columns")
    assert columns[0]["description"] == "The key."
    zip_code = columns[1]["children"][0]
    assert zip_code["description"] == "The code.\n\nOf five digits."
    assert [each["tagFQN"] for each in zip_code["tags"]] == ["PII.Email"]


def test_text_that_overlaps_itself_occurs_twice(world: World, table: Entity) -> None:
    edit(world, table, one(Act.APPEND_DESCRIPTION, text="A banana."))
    with pytest.raises(InvalidInput, match="exactly once, and does 2 times"):
        edit(world, table, one(Act.REPLACE_IN_DESCRIPTION, old="ana", text="x"))


@pytest.mark.parametrize(
    ("refused", "error", "said"),
    [
        (one(Act.REPLACE_IN_DESCRIPTION, old="orders"), None, ""),
        (one(Act.REPLACE_IN_DESCRIPTION, old="rders"), InvalidInput, "exactly once, and does 2"),
        (one(Act.REPLACE_IN_DESCRIPTION, old="none"), InvalidInput, "exactly once, and does 0"),
        (one(Act.SET_DESCRIPTION, replaces="Orders", text="x"), InvalidInput, "not the present"),
        (one(Act.SET_DISPLAY_NAME, replaces="x", text="y"), InvalidInput, "must be empty"),
        (one(Act.SET_DESCRIPTION, text="x"), InvalidInput, "must be the present text"),
        (one(Act.ADD_OWNERS, "ann", "nobody"), Unresolved, "no user or team named 'nobody'"),
        (one(Act.ADD_OWNERS, "bob"), InvalidInput, "write user:bob or team:bob"),
        (one(Act.ADD_TAGS, "Business.Order"), Unresolved, "no tag named"),
        (one(Act.REMOVE_OWNERS, "ann"), InvalidInput, "owners has no 'ann'"),
        (one(Act.APPEND_DESCRIPTION, column="none", text="x"), NotFound, "no column 'none'"),
        (one(Act.ADD_OWNERS, "ann", column="id"), InvalidInput, "columns have no owners"),
    ],
)
def test_edit_that_does_not_fit_changes_nothing(
    world: World, table: Entity, refused: Edit, error: type[CatalogError] | None, said: str
) -> None:
    good = one(Act.ADD_DOMAINS, "Sales")
    if error is None:
        assert edit(world, table, good, refused).version > table.version
        return
    with pytest.raises(error, match=said):
        edit(world, table, good, refused)
    assert world.catalog.planner.live(KINDS["table"], table.id) == table


def test_all_missing_names_are_told_together(world: World, table: Entity) -> None:
    with pytest.raises(Unresolved) as refused:
        edit(world, table, one(Act.ADD_OWNERS, "x", "ann"), one(Act.ADD_TAGS, "y"))
    assert refused.value.missing == [("x", ("user", "team")), ("y", ("tag",))]


def test_name_of_several_is_told_by_its_kind(world: World, table: Entity) -> None:
    after = edit(world, table, one(Act.ADD_OWNERS, "team:bob"))
    assert [each["type"] for each in after.value("owners")] == ["team"]


def test_stale_version_is_told_before_what_does_not_fit(world: World, table: Entity) -> None:
    edit(world, table, one(Act.APPEND_DESCRIPTION, text="x"))
    with pytest.raises(StaleVersion, match=r"is at version 0\.2, not 0\.1"):
        edit(world, table, one(Act.REPLACE_IN_DESCRIPTION, old="none"), expected_version=1)


def test_door_is_recorded_with_the_event(world: World, table: Entity) -> None:
    via = Via(door="mcp", what="change_entity", agent="helper", client="tests 1")
    edit(world, table, one(Act.APPEND_DESCRIPTION, text="x"), via=via)
    events = [each.event for each in world.log.stream(table.id)]
    assert [each.via for each in events] == [None, via]
