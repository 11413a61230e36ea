"""References of entities: parents, owners, tags, and what they take over from a parent."""

from typing import Any

import pytest

from benchmarks.direct_catalog import DirectCatalog
from domain.errors import Conflict, InvalidInput, NotFound
from tests.domain.counted_store import CountedStore

NOBODY = "00000000-0000-0000-0000-000000000000"


def message(call: Any, error: type[Exception], *args: Any, **kwargs: Any) -> str:
    with pytest.raises(error) as caught:
        call(*args, **kwargs)
    assert type(caught.value) is error
    return str(caught.value)


def reference(entity: Any) -> dict[str, Any]:
    """As it is recorded and shown."""
    return {
        "type": entity.kind,
        "id": entity.id,
        "fullyQualifiedName": entity.fqn,
        "name": entity.name,
    }


@pytest.fixture
def ann(world: Any) -> Any:
    return world.create("user", "ann", email="ann@example.org")


@pytest.fixture
def tag(world: Any) -> Any:
    world.create("classification", "PII", description="x")
    return world.create("tag", "Sensitive", classification="PII", description="x")


def test_references_by_id_and_by_name_are_recorded_alike(world: Any, ann: Any) -> None:
    for name, given in {
        "by id": {"type": "user", "id": ann.id},
        "by name": {"type": "user", "fullyQualifiedName": "ann"},
        "in capitals": {"type": "user", "id": ann.id.upper()},
        "read back": reference(ann) | {"displayName": "Old", "deleted": False},
    }.items():
        made = world.create("team", name, teamType="Group", owners=[given])
        assert made.value("owners") == [reference(ann)]


def test_same_entity_twice_is_one_reference(world: Any, ann: Any) -> None:
    owners = [{"type": "user", "id": ann.id}, {"type": "user", "fullyQualifiedName": "ann"}]
    assert world.create("team", "t", teamType="Group", owners=owners).value("owners") == [
        reference(ann)
    ]


def test_reference_by_an_empty_name_leads_nowhere(world: Any) -> None:
    given = {"name": "n", "glossary": "words", "description": "x", "parent": ""}
    world.create("glossary", "words", description="x")
    refused = message(world.create, NotFound, "glossaryTerm", **given)
    assert refused.startswith("parent: glossaryTerm instance for ''")


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"type": "user", "id": NOBODY}, NotFound, f"user or team instance for {NOBODY} not found"),
        (
            {"type": "user", "fullyQualifiedName": "bob"},
            NotFound,
            "user or team instance for 'bob' not found",
        ),
        (
            {"type": "team", "fullyQualifiedName": "ann"},
            NotFound,
            "user or team instance for 'ann' not found",
        ),
    ],
)
def test_missing_reference_is_not_found(
    world: Any, ann: Any, given: Any, error: type[Exception], said: str
) -> None:
    owners = [{"type": "user", "id": ann.id}, given]
    call = message(world.create, error, "team", "t", teamType="Group", owners=owners)
    assert call == f"owners[1]: {said}"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"type": "table", "id": NOBODY}, "owners[0].type must be user or team, got 'table'"),
        ({"type": "user"}, "owners[0]: a reference needs `id` or `fullyQualifiedName`"),
        ({"type": "user", "id": "7"}, f"owners[0].id must be a UUID such as {NOBODY}, got '7'"),
        ({"type": "user", "id": ""}, f"owners[0].id must be a UUID such as {NOBODY}, got ''"),
    ],
)
def test_malformed_reference_is_invalid(world: Any, given: Any, said: str) -> None:
    assert (
        message(world.create, InvalidInput, "team", "t", teamType="Group", owners=[given]) == said
    )


def test_reference_of_any_kind_by_name_needs_its_type(world: Any) -> None:
    world.schema()
    table = world.table("t")
    assert message(world.create, InvalidInput, "dataContract", "c", entity=table.fqn) == (
        "entity: a reference by name needs its `type` here"
    )
    made = world.create(
        "dataContract", "c", entity={"type": "table", "fullyQualifiedName": table.fqn}
    )
    assert (made.value("entity"), made.parent_id) == (reference(table), table.id)
    assert made.fqn == "service.database.schema.t.dataContract_c"


def test_deleted_entity_cannot_be_referred_to(world: Any, ann: Any) -> None:
    world.delete(ann)
    owners = [{"type": "user", "id": ann.id}]
    assert message(world.create, NotFound, "team", "t", teamType="Group", owners=owners) == (
        f"owners[0]: user or team instance for {ann.id} not found"
    )


def test_reference_that_is_there_already_stays_when_its_target_goes(world: Any, ann: Any) -> None:
    team = world.create("team", "t", teamType="Group", owners=[{"type": "user", "id": ann.id}])
    world.delete(ann, hard=True)
    changed = world.patch(team, {"op": "add", "path": "/displayName", "value": "T"}).entity
    assert changed.value("owners") == [reference(ann)]
    outcome = world.put("team", "t", teamType="Group", owners=[reference(ann)])
    assert outcome.entity.value("owners") == [reference(ann)]


def test_parent_must_be_there(world: Any) -> None:
    assert message(world.create, NotFound, "database", "d", service="nowhere") == (
        "service: databaseService instance for 'nowhere' not found"
    )
    service = world.create("databaseService", "s", serviceType="Mysql")
    world.delete(service)
    assert message(world.create, NotFound, "database", "d", service="s") == (
        "service: databaseService instance for 's' not found"
    )
    assert message(world.create, InvalidInput, "glossaryTerm", "g", description="x") == (
        "glossaryTerm: needs its parent in parent or glossary"
    )


def test_child_of_a_deleted_parent_cannot_be_changed_or_restored(world: Any) -> None:
    schema = world.schema()
    table = world.table("t")
    world.delete(schema, recursive=True)
    said = (
        "table 'service.database.schema.t' stands under 'service.database.schema', which is deleted"
    )
    assert message(world.restore, Conflict, table) == said
    call = message(world.put, NotFound, "table", "t", databaseSchema=schema.fqn, columns=[])
    assert call == ("databaseSchema instance for 'service.database.schema' not found")


def test_qualified_names_quote_their_parts(world: Any) -> None:
    world.create("databaseService", "my.service", serviceType="Mysql")
    database = world.create("database", 'say "hi"', service='"my.service"')
    assert database.fqn == '"my.service"."say ""hi"""'


def test_children_inherit_from_their_parent(world: Any) -> None:
    schema = world.schema()
    service, database = (
        world.log.claim("databaseService", "service"),
        world.log.claim("database", "service.database"),
    )
    table = world.table("t")
    assert (table.parent_id, table.fqn) == (schema.id, "service.database.schema.t")
    assert table.value("serviceType") == "Mysql"
    assert table.value("databaseSchema") == reference(schema)
    assert table.value("database")["id"] == database.id
    assert table.value("service")["id"] == service.id


def test_inherited_keys_may_be_repeated_but_not_contradicted(world: Any) -> None:
    world.schema()
    other = world.create("databaseService", "other", serviceType="Mysql")
    table = world.table("t", serviceType="Mysql", database="service.database")
    assert table.value("database")["fullyQualifiedName"] == "service.database"
    assert message(world.table, InvalidInput, "u", serviceType="Postgres") == (
        "serviceType follows from the parent and is 'Mysql'; leave it out"
    )
    assert message(
        world.table, InvalidInput, "u", service={"id": other.id, "type": "databaseService"}
    ) == ("service follows from the parent and is 'service'; leave it out")


def test_parent_cannot_be_changed(world: Any) -> None:
    schema = world.schema()
    table = world.table("t")
    other = world.create("databaseSchema", "other", database="service.database")
    move = {"op": "replace", "path": "/databaseSchema", "value": reference(other)}
    assert message(world.patch, InvalidInput, table, move) == (
        "databaseSchema of a table cannot be changed: its qualified name stands on it"
    )
    assert [claim.fqn for claim in world.log.claims(parents=[schema.id])] == [table.fqn]


def test_tags_must_exist(world: Any, tag: Any) -> None:
    world.schema()
    label = {"tagFQN": tag.fqn, "source": "Classification"}
    column = {"name": "a", "dataType": "INT", "tags": [label]}
    table = world.table("t", tags=[label], columns=[column])
    assert [made["tagFQN"] for made in table.value("tags")] == ["PII.Sensitive"]
    assert [made["tagFQN"] for made in table.value("columns")[0]["tags"]] == ["PII.Sensitive"]
    missing = {"tagFQN": "PII.None", "source": "Classification"}
    said = "tags: tag instance for 'PII.None' not found"
    assert message(world.table, NotFound, "u", tags=[missing]) == said
    assert message(world.table, NotFound, "u", columns=[column | {"tags": [missing]}]) == said
    term = {"tagFQN": tag.fqn, "source": "Glossary"}
    assert message(world.table, NotFound, "u", tags=[term]) == (
        "tags: glossaryTerm instance for 'PII.Sensitive' not found"
    )


def test_tag_that_is_there_already_stays_when_it_goes(world: Any, tag: Any) -> None:
    world.schema()
    table = world.table("t", tags=[{"tagFQN": tag.fqn}])
    world.delete(tag)
    changed = world.patch(table, {"op": "add", "path": "/description", "value": "x"}).entity
    assert changed.value("tags") == table.value("tags")
    assert message(world.table, NotFound, "u", tags=[{"tagFQN": tag.fqn}]) == (
        "tags: tag instance for 'PII.Sensitive' not found"
    )


def test_a_data_product_may_join_more_domains_but_not_leave_its_first(world: Any) -> None:
    for name in ("sales", "ops"):
        world.create("domain", name, domainType="Aggregate", description="-")
    product = world.create("dataProduct", "p", domains=["sales"], description="-")

    more = world.put("dataProduct", "p", domains=["sales", "ops"], description="-").entity
    assert [domain["name"] for domain in more.value("domains")] == ["sales", "ops"]
    assert more.fqn == product.fqn == "sales.p"
    moved = [{"op": "remove", "path": "/domains/0"}]
    with pytest.raises(InvalidInput, match="domains of a dataProduct cannot be changed"):
        world.patch(more, *moved)


def test_what_a_payload_names_often_is_looked_up_once(world: Any, ann: Any) -> None:
    world.schema()
    store = CountedStore(world.log)
    world.catalog = DirectCatalog(store, now=world.now)
    table = world.table("t", owners=["ann"] * 100)
    assert table.value("owners") == [reference(ann)]
    asked = [key for _, values in store.calls for key in values.get("names", ())]
    assert asked.count(("user", "ann")) == 1


def test_soft_deleted_holder_of_a_name_does_not_shadow_a_live_one(world: Any) -> None:
    world.delete(world.create("user", "bob", email="bob@example.org"))
    team = world.create("team", "bob", teamType="Group")
    for given in ("bob", {"fullyQualifiedName": "bob"}):
        made = world.put("team", "owned", teamType="Group", owners=[given]).entity
        assert made.value("owners") == [reference(team)]
    world.delete(team)
    assert message(world.create, NotFound, "team", "t", teamType="Group", owners=["bob"]) == (
        "owners[0]: user or team instance for 'bob' not found"
    )


def test_charts_that_nobody_wrote_become_references_that_stay_the_same(world: Any) -> None:
    world.create("dashboardService", "s", serviceType="Superset")
    charts = [{"name": "1.2", "displayName": "Orders"}, "s.3"]
    first = world.create("dashboard", "n", service="s", charts=charts).value("charts")
    other = world.create("dashboard", "m", service="s", charts=charts).value("charts")
    assert first == other
    assert first == [
        {
            "type": "chart",
            "id": "1b256499-c816-5ee7-85d8-450b61880c37",
            "fullyQualifiedName": 's."1.2"',
            "name": "1.2",
            "displayName": "Orders",
        },
        {
            "type": "chart",
            "id": "7918e3f9-8804-593e-9050-3d66327673d5",
            "fullyQualifiedName": "s.3",
            "name": "3",
        },
    ]


def test_charts_and_data_models_that_are_held_are_referred_to(world: Any) -> None:
    world.create("dashboardService", "s", serviceType="Superset")
    given = {
        "service": "s",
        "charts": [{"name": "orders"}, "s.returns"],
        "dataModels": ["s.model.sales", {"name": "stock"}],
    }
    before = world.put("dashboard", "d", **given).entity
    chart = world.create("chart", "orders", service="s", chartType="Bar")
    sales, stock = (
        world.create("dashboardDataModel", name, service="s", dataModelType="SupersetDataModel")
        for name in ("sales", "stock")
    )
    assert (sales.fqn, sales.value("serviceType")) == ("s.model.sales", "Superset")
    after = world.put("dashboard", "d", **given).entity
    assert after.value("charts") == [reference(chart), before.value("charts")[1]]
    assert after.value("dataModels") == [reference(sales), reference(stock)]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"type": "team", "name": "t"}, "charts[0].type must be chart, got 'team'"),
        ({}, "charts[0]: a reference needs `id` or `fullyQualifiedName`"),
        ("s..a", "'s..a' is not a qualified name: a part is empty at character 3"),
    ],
)
def test_reference_to_a_chart_must_name_one(world: Any, given: Any, said: str) -> None:
    world.create("dashboardService", "s", serviceType="Superset")
    create = world.create
    assert message(create, InvalidInput, "dashboard", "d", service="s", charts=[given]) == said
