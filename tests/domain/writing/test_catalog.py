"""Creating and changing entities through the catalog, over a real file."""

from typing import Any

import msgspec
import pytest

from domain.errors import (
    MAX_MESSAGE,
    AlreadyExists,
    InvalidInput,
    InvalidTransition,
    NotFound,
    StaleVersion,
)
from domain.kinds.registry import KINDS
from domain.openmetadata import document
from domain.writing.plans import Change


def values(entity: Any) -> dict[str, Any]:
    return {key: msgspec.json.decode(raw) for key, raw in entity.body.items()}


def message(call: Any, error: type[Exception], *args: Any, **kwargs: Any) -> str:
    with pytest.raises(error) as caught:
        call(*args, **kwargs)
    assert type(caught.value) is error
    return str(caught.value)


@pytest.fixture
def service(world: Any) -> Any:
    return world.create("databaseService", "s", serviceType="Mysql", description="old")


def test_patched_query_keeps_its_name_and_has_the_checksum_of_its_new_text(world: Any) -> None:
    world.create("databaseService", "s", serviceType="Mysql")
    given = {"query": "SELECT 1", "service": "s"}
    made = world.catalog.put(KINDS["query"], given, world.context()).entity
    again = world.catalog.put(KINDS["query"], given, world.context())
    assert (again.entity.id, again.change) == (made.id, Change.NO_CHANGE)
    named = world.put("query", "daily", **given).entity
    described = world.patch(named, {"op": "add", "path": "/description", "value": "D"}).entity
    assert (described.name, described.fqn) == ("daily", "s.daily")
    changed = world.patch(made, {"op": "replace", "path": "/query", "value": "SELECT 2"}).entity
    assert (changed.fqn, changed.value("query")) == (made.fqn, "SELECT 2")
    # printf 'SELECT 2' | md5sum
    assert changed.value("checksum") == "fc1c7a0bdce312b20bc3780dd6d41aaa"


def test_create_gives_the_entity_as_recorded(world: Any) -> None:
    outcome = world.catalog.create(
        KINDS["databaseService"],
        {"name": "a.b", "serviceType": "Mysql", "description": None, "tags": []},
        world.context(actor="bob"),
    )
    entity = outcome.entity
    assert (outcome.change, outcome.position) == (Change.CREATED, 1)
    assert (entity.name, entity.fqn, entity.version, entity.stream_version) == (
        "a.b",
        '"a.b"',
        1,
        1,
    )
    assert values(entity) == {"serviceType": "Mysql"}
    assert msgspec.json.decode(document.encode(document.fields(entity))) == {
        "id": entity.id,
        "name": "a.b",
        "fullyQualifiedName": '"a.b"',
        "serviceType": "Mysql",
        "version": 0.1,
        "updatedAt": 1_000,
        "updatedBy": "bob",
    }


def test_create_of_a_taken_name(world: Any, service: Any) -> None:
    say = "databaseService named 's' exists already"
    assert message(world.create, AlreadyExists, "databaseService", "s", serviceType="Mysql") == (
        f"a {say}"
    )
    world.delete(service)
    assert message(world.create, AlreadyExists, "databaseService", "s", serviceType="Mysql") == (
        f"a soft-deleted {say}"
    )
    world.delete(service, hard=True)
    assert world.create("databaseService", "s", serviceType="Mysql").id != service.id


def test_same_name_in_another_kind_is_free(world: Any, service: Any) -> None:
    assert world.create("messagingService", "s", serviceType="Kafka").fqn == service.fqn


@pytest.mark.parametrize(
    ("kind", "given", "said"),
    [
        ("team", {"name": "t"}, "team: Object missing required field `teamType`"),
        (
            "team",
            {"name": "t", "teamType": "Group", "bogus": 1},
            "team: Object contains unknown field `bogus`",
        ),
        ("team", {"teamType": "Group"}, "team: Object missing required field `name`"),
        ("team", {"name": 1, "teamType": "Group"}, "team: Expected `str`, got `int` - at `$.name`"),
        (
            "team",
            {"name": "t", "teamType": "Gang"},
            "team: Invalid enum value 'Gang' - at `$.teamType`; allowed are"
            " Group, Department, Division, BusinessUnit, Organization",
        ),
        (
            "table",
            {
                "name": "t",
                "databaseSchema": "s",
                "columns": [
                    {
                        "name": "a",
                        "dataType": "STRUCT",
                        "children": [{"name": "b", "dataType": "INTEGR"}],
                    }
                ],
            },
            "table: Invalid enum value 'INTEGR' - at `$.columns[0].children[0].dataType`;"
            " allowed are, among others, INTEGER, INTERVAL, INT",
        ),
        ("team", {"name": "", "teamType": "Group"}, "name must have 1 to 256 characters, got 0"),
        ("database", {"name": "d"}, "database: Object missing required field `service`"),
        (
            "dataContract",
            {"name": "c", "entity": {"type": "table", "id": "x"}, "entityStatus": "Retired"},
            "entityStatus must be one of Draft, Active, Deprecated, got 'Retired'",
        ),
    ],
)
def test_create_says_what_is_wrong(world: Any, kind: str, given: Any, said: str) -> None:
    assert message(world.catalog.create, InvalidInput, KINDS[kind], given, world.context()) == said
    assert world.events() == []


def test_put_creates_what_is_not_there(world: Any) -> None:
    outcome = world.put("databaseService", "s", serviceType="Mysql")
    assert (outcome.change, outcome.entity.version) == (Change.CREATED, 1)


def test_put_keeps_absent_keys_and_removes_nulls(world: Any, service: Any) -> None:
    world.create("user", "ann", email="ann@example.org")
    world.put(
        "databaseService",
        "s",
        serviceType="Mysql",
        displayName="S",
        owners=[{"type": "user", "fullyQualifiedName": "ann"}],
    )
    outcome = world.put(
        "databaseService",
        "s",
        serviceType="Postgres",
        displayName=None,
        owners=[],
        description="new",
    )
    assert (outcome.change, outcome.entity.version) == (Change.UPDATED, 3)
    assert values(outcome.entity) == {"serviceType": "Postgres", "description": "new"}
    outcome = world.put("databaseService", "s", serviceType="Postgres")
    assert values(outcome.entity) == {"serviceType": "Postgres", "description": "new"}


def test_put_of_the_same_stores_no_event(world: Any, service: Any) -> None:
    head = world.log.head()
    outcome = world.put("databaseService", "s", serviceType="Mysql", description="old", tags=[])
    assert (outcome.change, outcome.position) == (Change.NO_CHANGE, head)
    assert (outcome.entity, world.log.head()) == (service, head)


def test_put_restores_a_deleted_entity(world: Any, service: Any) -> None:
    world.delete(service)
    outcome = world.put("databaseService", "s", serviceType="Mysql", description="new")
    assert (outcome.change, outcome.entity.deleted) == (Change.UPDATED, False)
    assert (outcome.entity.id, outcome.entity.version) == (service.id, 3)
    assert world.events(after=1) == [
        ("entity.soft-deleted", "s"),
        ("entity.restored", "s"),
        ("entity.changed", "s"),
    ]


def test_put_keeps_the_status_that_it_leaves_out(world: Any) -> None:
    world.schema()
    table = world.table("t")
    world.contract("c", table, entityStatus="Active")
    reference = {"id": table.id, "type": "table"}
    assert (
        world.put("dataContract", "c", entity=reference, description="x").entity.status == "Active"
    )
    assert world.put("dataContract", "c", entity=reference, entityStatus=None).entity.status == (
        "Active"
    )
    assert (
        message(
            world.put,
            InvalidTransition,
            "dataContract",
            "c",
            entity=reference,
            entityStatus="Draft",
        )
        == "a contract cannot go from Active to Draft; from Active it may go to Deprecated"
    )


def test_patch_replaces_exactly(world: Any, service: Any) -> None:
    outcome = world.patch(
        service,
        {"op": "test", "path": "/version", "value": 0.1},
        {"op": "remove", "path": "/description"},
        {"op": "add", "path": "/displayName", "value": "S"},
    )
    assert (outcome.change, outcome.entity.version) == (Change.UPDATED, 2)
    assert values(outcome.entity) == {"serviceType": "Mysql", "displayName": "S"}


def test_patch_looks_at_what_it_changes_and_keeps_the_rest_as_it_is(world: Any) -> None:
    world.schema()
    user = world.create("user", "ann")
    owners = [{"id": user.id, "type": "user"}]
    table = world.table("t", owners=owners, extension={"a": {"b": [1.0, {"c": None}]}})
    world.delete(user, hard=True)
    outcome = world.patch(table, {"op": "add", "path": "/description", "value": "x"})
    assert outcome.entity.body == {**table.body, "description": msgspec.Raw(b'"x"')}
    moved = world.patch(table, {"op": "move", "from": "/description", "path": "/displayName"})
    assert moved.entity.body == {**table.body, "displayName": msgspec.Raw(b'"x"')}


def test_patch_finds_absent_arrays_empty(world: Any, service: Any) -> None:
    world.create("user", "ann", email="ann@example.org")
    owner = {"type": "user", "fullyQualifiedName": "ann"}
    outcome = world.patch(
        service,
        {"op": "test", "path": "/tags", "value": []},
        {"op": "add", "path": "/owners/0", "value": owner},
    )
    assert [ref["name"] for ref in outcome.entity.value("owners")] == ["ann"]
    outcome = world.patch(service, {"op": "remove", "path": "/owners/0"})
    assert values(outcome.entity) == {"serviceType": "Mysql", "description": "old"}


def test_patch_that_changes_nothing_stores_no_event(world: Any, service: Any) -> None:
    outcome = world.patch(service, {"op": "replace", "path": "/description", "value": "old"})
    assert (outcome.change, outcome.entity) == (Change.NO_CHANGE, service)
    assert world.events() == [("entity.created", "s")]


@pytest.mark.parametrize("key", [key for key in document.SERVER_KEYS if key != "name"])
def test_patch_cannot_set_what_the_catalog_sets(world: Any, service: Any, key: str) -> None:
    said = f"{key} is set by the catalog and cannot be patched"
    add = {"op": "add", "path": f"/{key}", "value": "x"}
    assert message(world.patch, InvalidInput, service, add) == said


def test_patch_of_a_name_that_its_source_gives_says_what_may_be_renamed(
    world: Any, service: Any
) -> None:
    add = {"op": "add", "path": "/name", "value": "x"}
    assert message(world.patch, InvalidInput, service, add) == (
        "name of a databaseService cannot be patched: it is the one that its source knows it by;"
        " what may be renamed is classification, dataProduct, domain, glossary, glossaryTerm, tag,"
        " team"
    )


@pytest.mark.parametrize(
    ("operation", "said"),
    [
        (
            {"op": "remove", "path": "/tags/0"},
            "JSON Patch operation 0: '0' is no place in an array of 0",
        ),
        (
            {"op": "replace", "path": "", "value": []},
            "a patch cannot replace the entity by something else",
        ),
        (
            {"op": "add", "path": "/bogus", "value": 1},
            "databaseService: Object contains unknown field `bogus`",
        ),
        (
            {"op": "remove", "path": "/serviceType"},
            "databaseService: Object missing required field `serviceType`",
        ),
    ],
)
def test_patch_says_what_is_wrong(world: Any, service: Any, operation: Any, said: str) -> None:
    assert message(world.patch, InvalidInput, service, operation) == said
    assert world.log.head() == 1


def test_patch_cannot_remove_a_status(world: Any) -> None:
    world.schema()
    contract = world.contract("c", world.table("t"))
    remove = {"op": "remove", "path": "/entityStatus"}
    assert message(world.patch, InvalidInput, contract, remove) == "entityStatus cannot be removed"


def test_patch_of_what_is_not_there(world: Any, service: Any) -> None:
    world.delete(service)
    add = {"op": "add", "path": "/displayName", "value": "S"}
    assert message(world.patch, NotFound, service, add) == (
        f"databaseService instance for {service.id} not found: it is deleted"
    )
    assert message(
        world.catalog.patch, NotFound, KINDS["team"], service.id, [add], world.context()
    ) == (f"team instance for {service.id} not found")


def test_stale_version_is_refused(world: Any, service: Any) -> None:
    world.put("databaseService", "s", serviceType="Postgres")
    stale, current = world.context(expected_version=1), world.context(expected_version=2)
    say = "databaseService 's' is at version 0.2, not 0.1"
    add = {"op": "add", "path": "/displayName", "value": "S"}
    assert message(world.patch, StaleVersion, service, add, context=stale) == say
    assert (
        message(world.put, StaleVersion, "databaseService", "s", stale, serviceType="Mysql") == say
    )
    assert message(world.delete, StaleVersion, service, context=stale) == say
    assert world.patch(service, add, context=current).entity.version == 3
    assert message(
        world.put, StaleVersion, "databaseService", "n", current, serviceType="Mysql"
    ) == ("databaseService 'n' does not exist, so has no version")


def test_write_is_refused_unless_existence_is_as_required(world: Any, service: Any) -> None:
    existing, absent = world.context(must_exist=True), world.context(must_not_exist=True)
    none = "databaseService 'n' does not exist, so has no version"
    some = "databaseService 's' exists already"
    new = {"serviceType": "Mysql"}
    assert message(world.put, StaleVersion, "databaseService", "n", existing, **new) == none
    assert message(world.put, StaleVersion, "databaseService", "s", absent, **new) == some
    add = {"op": "add", "path": "/displayName", "value": "S"}
    assert message(world.patch, StaleVersion, service, add, context=absent) == some
    assert message(world.delete, StaleVersion, service, context=absent) == some
    assert world.put("databaseService", "n", absent, **new).entity.fqn == "n"
    assert world.patch(service, add, context=existing).entity.version == 2


@pytest.mark.parametrize("levels", [60, 500, 100_000])
def test_deep_values_are_kept_or_refused(world: Any, service: Any, levels: int) -> None:
    world.create("database", "d", service="s")

    def nested(leaf: int) -> dict[str, Any]:
        value: Any = leaf
        for _ in range(levels):
            value = {"a": value}
        return {"extension": value}

    def patch(leaf: int) -> Any:
        database = world.put("database", "d", service="s").entity
        return world.patch(database, {"op": "add", "path": "/extension", "value": nested(leaf)})

    for write in (lambda leaf: world.put("database", "d", service="s", **nested(leaf)), patch):
        if levels == 60:
            assert [write(leaf).change for leaf in (1, 2)] == [Change.UPDATED] * 2
        else:
            said = "values are nested more than 64 levels deep"
            assert message(write, InvalidInput, 1) == said


def test_names_that_look_alike_are_different(world: Any) -> None:
    names = ["A", "a", "\u00e9", "e\u0301", "a ", "n" * 256]
    made = [world.create("team", name, teamType="Group") for name in names]
    assert [entity.fqn for entity in made] == names
    assert [world.log.claim("team", name).id for name in names] == [entity.id for entity in made]


def test_patch_of_more_operations_than_there_may_be_is_refused(world: Any, service: Any) -> None:
    operation = {"op": "test", "path": "/name", "value": "s"}
    assert world.patch(service, *[operation] * 10_000).change is Change.NO_CHANGE
    assert message(world.patch, InvalidInput, service, *[operation] * 10_001) == (
        "a JSON Patch may have 10000 operations, this has 10001"
    )


def test_entity_of_more_paths_than_there_may_be_is_refused(world: Any) -> None:
    world.schema()
    table = world.table("t", extension={f"k{number}": 1 for number in range(900)})
    add = {"op": "add", "path": "/extension/more", "value": {f"k{n}": 1 for n in range(100)}}
    said = (
        "an entity may have 1000 different dotted paths of keys, those of `extension` and its like"
    )
    assert said in message(world.patch, InvalidInput, table, add)


@pytest.mark.parametrize("key", ["tags", "owners", "databaseSchema"])
def test_messages_about_references_repeat_the_beginning_of_long_names_only(
    world: Any, key: str
) -> None:
    world.schema()
    long = "x" * 5_000
    values = {"tags": [{"tagFQN": long}], "owners": [long], "databaseSchema": long}
    assert len(message(world.table, NotFound, "t", **{key: values[key]})) < 200


def test_messages_are_bounded_whatever_they_repeat(world: Any) -> None:
    said = message(world.create, InvalidInput, "databaseService", "s", **{"x" * 10_000: 1})
    assert len(said) == MAX_MESSAGE + len("...")
