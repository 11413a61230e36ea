"""Where labels exclude each other, a person's second one is refused, and a bot's is dropped."""

from typing import Any

import pytest
from msgspec.json import encode

from domain.errors import InvalidInput
from domain.importing.bulk_import import BulkImport, LineReport
from domain.importing.lines import Chunk
from domain.kinds.registry import KINDS
from domain.writing.bulk_put import Done

EXCLUDES = (
    "tags: 'Level.Low' and 'Level.High' exclude each other: classification 'Level' is mutually"
    " exclusive, so that one of its labels alone may be attached"
)


@pytest.fixture
def levels(world: Any) -> Any:
    """A catalog with a schema, and tags of which `Level` allows one alone."""
    world.schema()
    for name, exclusive in (("Level", True), ("Area", False)):
        world.create("classification", name, description="-", mutuallyExclusive=exclusive)
    for name in ("Low", "High", "Middle"):
        world.create("tag", name, classification="Level", description="-")
    for name in ("North", "South"):
        world.create("tag", name, classification="Area", description="-")
    return world


def labels(*fqns: str, source: str = "Classification") -> list[dict[str, str]]:
    return [{"tagFQN": fqn, "source": source} for fqn in fqns]


def column(name: str, *fqns: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "dataType": "STRUCT", "tags": labels(*fqns), **more}


def refusal(act: Any, *args: Any, **values: Any) -> str:
    with pytest.raises(InvalidInput) as caught:
        act(*args, **values)
    return caught.value.message


def put(world: Any, *fqns: str, bot: bool = False, **values: Any) -> Any:
    """A PUT of the table `t`, with these tags."""
    context = world.context(actor="bot", by_bot=True) if bot else None
    given = {"columns": [column("id")], "tags": labels(*fqns), **values}
    return world.put("table", "t", context, databaseSchema="service.database.schema", **given)


def tags(outcome: Any) -> list[str]:
    return [tag["tagFQN"] for tag in outcome.entity.value("tags") or []]


def test_person_is_told_that_a_second_label_excludes_the_first(levels: Any) -> None:
    both = labels("Level.Low", "Level.High")
    assert refusal(levels.table, "t", tags=both) == EXCLUDES
    assert refusal(put, levels, "Level.Low", "Level.High") == EXCLUDES
    table = put(levels, "Level.Low", "Area.North", "Area.South").entity
    add = {"op": "add", "path": "/tags/-", "value": labels("Level.High")[0]}
    assert refusal(levels.patch, table, add) == EXCLUDES
    replace = {"op": "replace", "path": "/tags", "value": labels("Level.High")}
    assert tags(levels.patch(table, replace)) == ["Level.High"]
    assert tags(put(levels, "Level.Middle")) == ["Level.Middle"]


def test_rule_is_one_of_each_place(levels: Any) -> None:
    inner = [column("street", "Level.Low"), column("house.number", "Level.Low", "Level.High")]
    columns = [column("id", "Level.High"), column("address", "Level.Middle", children=inner)]
    said = refusal(put, levels, "Level.Low", columns=columns)
    assert said.startswith("columns.address.\"house.number\": 'Level.Low' and 'Level.High' exclude")
    inner.pop()
    assert put(levels, "Level.Low", columns=columns).entity.version == 1


def test_terms_of_a_glossary_and_tags_of_a_tag_exclude_each_other_too(levels: Any) -> None:
    levels.create("glossary", "Words", description="-", mutuallyExclusive=True)
    levels.create("tag", "Deep", classification="Area", description="-", mutuallyExclusive=True)
    for name in ("One", "Two"):
        levels.create("glossaryTerm", name, glossary="Words", description="-")
        levels.create("tag", name, classification="Area", parent="Area.Deep", description="-")
    terms = labels("Words.One", "Words.Two", source="Glossary")
    assert "glossary 'Words' is mutually exclusive" in refusal(levels.table, "t", tags=terms)
    deep = labels("Area.Deep.One", "Area.Deep.Two")
    assert "tag 'Area.Deep' is mutually exclusive" in refusal(levels.table, "t", tags=deep)


def test_labels_that_stand_together_already_may_stay(levels: Any) -> None:
    for exclusive in (False, True):
        levels.put("classification", "Level", description="-", mutuallyExclusive=exclusive)
        if not exclusive:
            table = put(levels, "Level.Low", "Level.High").entity
    assert tags(put(levels, "Level.High", "Level.Low", description="x")) == [
        "Level.High",
        "Level.Low",
    ]
    add = {"op": "add", "path": "/tags/-", "value": labels("Level.Middle")[0]}
    assert "'Level.Middle' exclude each other" in refusal(levels.patch, table, add)
    remove = {"op": "remove", "path": "/tags/0"}
    assert tags(levels.patch(table, remove)) == ["Level.Low"]


def test_label_of_a_bot_that_another_excludes_is_dropped_and_told(levels: Any) -> None:
    made = put(levels, "Level.Low", "Level.High", "Area.North", bot=True)
    assert (tags(made), made.dropped) == (["Level.Low", "Area.North"], ["Level.High of tags"])
    again = put(levels, "Level.High", "Area.South", bot=True)
    assert tags(again) == ["Level.Low", "Area.North", "Area.South"]
    assert again.dropped == ["Level.High of tags"]
    columns = [column("id", "Level.Middle", "Level.Low")]
    inner = put(levels, bot=True, columns=columns)
    assert inner.dropped == ["Level.Low of columns.id"]
    bot = levels.context(actor="bot", by_bot=True)
    add = {"op": "add", "path": "/tags/0", "value": labels("Level.High")[0]}
    patched = levels.patch(inner.entity, add, context=bot)
    assert (patched.change, patched.dropped) == ("entityNoChange", ["Level.High of tags"])
    forced = levels.context(actor="bot", by_bot=True, override_metadata=True)
    given = {
        "columns": [column("id", "Level.Middle")],
        "tags": labels("Level.High", "Level.Middle"),
    }
    where = {"databaseSchema": "service.database.schema"}
    replaced = levels.put("table", "t", forced, **where, **given)
    assert (tags(replaced), replaced.dropped) == (["Level.High"], ["Level.Middle of tags"])


def test_import_and_bulk_tell_what_is_left_out(levels: Any) -> None:
    context = levels.context(actor="bot", by_bot=True)
    table = {
        "name": "t",
        "databaseSchema": "service.database.schema",
        "columns": [column("id")],
        "tags": labels("Level.Low", "Level.High", "Level.Middle"),
    }
    told = "left out, as other labels there exclude them: Level.High of tags, Level.Middle of tags"
    _, (done,) = levels.catalog.propose_puts(KINDS["table"], [table], context)
    assert isinstance(done, Done)
    assert done.told_dropped == told
    fqn = "service.database.schema.t"
    line = {"entityType": "table", "fullyQualifiedName": fqn, **table}
    batch = BulkImport(levels.log, context, now=levels.now).load(Chunk([(7, encode(line))]))
    assert (batch.dropped, batch.bad) == ([LineReport(7, told)], [])
    assert batch.created == 1
