"""Contents that a payload may have, and the form in which it is recorded."""

import gzip
import json
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
import pytest
from msgspec import ValidationError

from domain.errors import InvalidInput
from domain.kinds.bodies.base import EntityBody
from domain.kinds.bodies.columns import MAX_PARTS
from domain.kinds.bodies.components import Reference, TagLabel, outsider
from domain.kinds.registry import KINDS
from domain.openmetadata.entity_properties import unalias

DATA = Path(__file__).parents[3].parent / "shared" / "data"


def read(kind: str, **values: Any) -> Any:
    return msgspec.convert(unalias({"name": "n", **values}), KINDS[kind].body)


def recorded(body: EntityBody, fqn: str) -> Any:
    body.complete(fqn)
    return json.loads(msgspec.json.encode(body))


def lines(path: Path) -> Iterator[str]:
    data = path.read_bytes()
    yield from (gzip.decompress(data) if path.suffix == ".gz" else data).decode().splitlines()


@pytest.mark.parametrize("name", ["ecommerce.jsonl", "mozilla.jsonl.gz"])
def test_catalog_lines_convert_and_stay_once_completed(name: str) -> None:
    if not (DATA / name).exists():
        pytest.skip(f"the shared catalogs are not here: no {name}")
    for number, line in enumerate(lines(DATA / name), start=1):
        values = json.loads(line)
        kind = KINDS[values.pop("entityType")]
        fqn = values.pop("fullyQualifiedName")
        body = msgspec.convert(unalias(values), kind.body)
        body.complete(fqn)
        once = msgspec.json.encode(body)
        body.complete(fqn)
        assert msgspec.json.encode(body) == once, number
        again = msgspec.json.decode(once, type=kind.body)
        assert msgspec.json.encode(again) == once, number


@pytest.mark.parametrize("kind", KINDS)
def test_body_unknown_key_is_named(kind: str) -> None:
    with pytest.raises(ValidationError, match="unknown field `colour`"):
        msgspec.convert({"colour": "red"}, KINDS[kind].body)


def test_column_unknown_key_is_named_with_its_place() -> None:
    column = {"name": "a", "dataType": "STRUCT", "children": [{"name": "b", "colour": 1}]}
    with pytest.raises(ValidationError) as caught:
        read("table", databaseSchema="s", columns=[column])
    assert str(caught.value) == (
        "Object contains unknown field `colour` - at `$.columns[0].children[0]`"
    )


@pytest.mark.parametrize(
    ("kind", "values", "place"),
    [
        ("table", {"databaseSchema": "s", "columns": [{"name": "a", "dataType": "int"}]},
         "'int' - at `$.columns[0].dataType`"),
        ("table", {"databaseSchema": "s", "tableType": "Heap"}, "'Heap' - at `$.tableType`"),
        ("databaseService", {"serviceType": "mysql"}, "'mysql' - at `$.serviceType`"),
        ("team", {"teamType": "Squad"}, "'Squad' - at `$.teamType`"),
        ("domain", {"domainType": "Source"}, "'Source' - at `$.domainType`"),
        ("topic", {"service": "s", "partitions": 1, "messageSchema": {"schemaType": "XML"}},
         "'XML' - at `$.messageSchema.schemaType`"),
    ],
)  # fmt: skip
def test_closed_values_are_refused_with_their_place(
    kind: str, values: dict[str, Any], place: str
) -> None:
    with pytest.raises(ValidationError) as caught:
        read(kind, **values)
    assert str(caught.value) == f"Invalid enum value {place}"


def test_column_names_are_qualified_at_every_depth() -> None:
    column = {
        "name": "a.b",
        "dataType": "STRUCT",
        "children": [
            {"name": "c", "dataType": "STRUCT", "children": [{"name": "d", "dataType": "INT"}]}
        ],
    }
    table = recorded(read("table", databaseSchema="s", columns=[column]), "s.t")
    top = table["columns"][0]
    assert top["fullyQualifiedName"] == 's.t."a.b"'
    assert top["children"][0]["fullyQualifiedName"] == 's.t."a.b".c'
    assert top["children"][0]["children"][0]["fullyQualifiedName"] == 's.t."a.b".c.d'


PART = {"name": "p"}


@pytest.mark.parametrize(
    ("kind", "values", "path"),
    [
        ("topic", {"service": "s", "partitions": 1, "messageSchema": {
            "schemaFields": [{"name": "p", "dataType": "INT"}]}},
         ("messageSchema", "schemaFields")),
        ("pipeline", {"service": "s", "tasks": [PART]}, ("tasks",)),
        ("mlmodel", {"service": "s", "mlFeatures": [PART]}, ("mlFeatures",)),
        ("searchIndex", {"service": "s", "fields": [{"name": "p", "dataType": "TEXT"}]},
         ("fields",)),
        ("container", {"service": "s", "dataModel": {
            "columns": [{"name": "p", "dataType": "INT"}]}}, ("dataModel", "columns")),
        ("table", {"databaseSchema": "s", "dataModel": {"modelType": "DBT",
            "columns": [{"name": "p", "dataType": "INT"}]}}, ("dataModel", "columns")),
    ],
)  # fmt: skip
def test_parts_are_qualified(kind: str, values: dict[str, Any], path: tuple[str, ...]) -> None:
    found = recorded(read(kind, **values), "s.n")
    for key in path:
        found = found[key]
    assert found[0]["fullyQualifiedName"] == "s.n.p"


def test_feature_source_is_qualified_by_its_data() -> None:
    sources = [{"name": "p", "dataSource": "s.d.t"}, {"name": "q"}]
    model = read("mlmodel", service="s", mlFeatures=[{"name": "f", "featureSources": sources}])
    assert [(ref.type, kinds) for ref, kinds in model.nested_references()] == [("table", ())]
    shown = recorded(model, "s.n")["mlFeatures"][0]["featureSources"]
    assert [source["fullyQualifiedName"] for source in shown] == ["s.d.t.p", "q"]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([{"name": "a", "dataType": "INT"}] * 2, "s.t has two columns with the name 'a'"),
        (
            [{"name": "a", "dataType": "STRUCT",
              "children": [{"name": "b", "dataType": "INT"}] * 2}],
            "s.t.a has two columns with the name 'b'",
        ),
        ([{"name": "", "dataType": "INT"}],
         "the name of a column of s.t must have 1 to 256 characters, got 0"),
        ([{"name": "x" * 257, "dataType": "INT"}],
         "the name of a column of s.t must have 1 to 256 characters, got 257"),
    ],
)  # fmt: skip
def test_column_names_are_checked(columns: list[Any], message: str) -> None:
    table = read("table", databaseSchema="s", columns=columns)
    with pytest.raises(InvalidInput) as caught:
        table.complete("s.t")
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("kind", "key", "noun"),
    [("table", "columns", "columns"), ("dataContract", "schema", "columns")],
)
def test_parts_are_counted_at_all_levels_together(kind: str, key: str, noun: str) -> None:
    children = [{"name": f"c{number}", "dataType": "INT"} for number in range(MAX_PARTS - 1)]
    column = {"name": "top", "dataType": "STRUCT", "children": children}
    needed = {"entity": "e"} if kind == "dataContract" else {"databaseSchema": "s.d.x"}
    read(kind, **needed, **{key: [column]}).complete("fqn")
    more = read(kind, **needed, **{key: [column, {"name": "last", "dataType": "INT"}]})
    with pytest.raises(InvalidInput) as caught:
        more.complete("fqn")
    assert caught.value.message == f"an entity may have 20000 {noun}, at all levels together"


def test_qualified_names_of_parts_are_bounded() -> None:
    column = {"name": "leaf", "dataType": "INT"}
    for _ in range(12):
        column = {"name": "n" * 256, "dataType": "STRUCT", "children": [column]}
    with pytest.raises(InvalidInput) as caught:
        read("table", databaseSchema="s.d.x", columns=[column]).complete("fqn")
    assert caught.value.message == (
        "the qualified name of a column may have 3072 characters, got 3087 for " + repr("n" * 80)
    )


def test_contract_schema_duplicates_are_refused_at_every_depth() -> None:
    inner = [{"name": "b", "dataType": "INT"}] * 2
    contract = read(
        "dataContract",
        entity={"id": "e"},
        schema=[{"name": "a", "dataType": "STRUCT", "children": inner}],
    )
    with pytest.raises(InvalidInput) as caught:
        contract.complete("t.dataContract_n")
    assert caught.value.message == (
        "column 'a' of t.dataContract_n has two columns with the name 'b'"
    )


def test_warehouse_types_are_recorded_in_the_common_spelling() -> None:
    columns = [
        {"name": "a", "dataType": "INTEGER"},
        {"name": "b", "dataType": "BOOL", "dataTypeDisplay": "bool"},
        {"name": "c", "dataType": "ARRAY", "arrayDataType": "INT64"},
    ]
    shown = recorded(read("table", databaseSchema="s", columns=columns), "s.t")["columns"]
    assert [
        (column["dataType"], column.get("arrayDataType"), column.get("dataTypeDisplay"))
        for column in shown
    ] == [("INT", None, "INTEGER"), ("BOOLEAN", None, "bool"), ("ARRAY", "BIGINT", None)]


def test_tag_label_defaults_are_recorded() -> None:
    table = read("table", databaseSchema="s", tags=[{"tagFQN": "Tier.Tier1"}])
    assert recorded(table, "s.t")["tags"] == [
        {
            "tagFQN": "Tier.Tier1",
            "source": "Classification",
            "labelType": "Manual",
            "state": "Confirmed",
        }
    ]


def label(name: str) -> dict[str, str]:
    return {"tagFQN": name}


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("table", {"databaseSchema": "s", "columns": [{"name": "a", "dataType": "STRUCT",
            "tags": [label("b")], "children": [
                {"name": "c", "dataType": "INT", "tags": [label("c")]}]}]}),
        ("topic", {"service": "s", "partitions": 1, "messageSchema": {"schemaFields": [
            {"name": "a", "dataType": "INT", "tags": [label("b"), label("c")]}]}}),
        ("dashboardDataModel", {"service": "s", "dataModelType": "LookMlView", "columns": [
            {"name": "a", "dataType": "INT", "tags": [label("b"), label("c")]}]}),
        ("apiEndpoint", {"apiCollection": "c",
            "requestSchema": {"schemaFields": [
                {"name": "a", "dataType": "INT", "tags": [label("b")]}]},
            "responseSchema": {"schemaFields": [
                {"name": "a", "dataType": "INT", "tags": [label("c")]}]}}),
        ("pipeline", {"service": "s", "tasks": [{"name": "a", "tags": [label("b"), label("c")]}]}),
        ("searchIndex", {"service": "s", "fields": [
            {"name": "a", "dataType": "TEXT", "tags": [label("b"), label("c")]}]}),
        ("container", {"service": "s", "dataModel": {"columns": [
            {"name": "a", "dataType": "INT", "tags": [label("b"), label("c")]}]}}),
        ("mlmodel", {"service": "s", "mlFeatures": [{"name": "a", "tags": [label("b")],
            "featureSources": [{"name": "d", "tags": [label("c")]}]}]}),
    ],
)  # fmt: skip
def test_tag_labels_are_found_at_every_depth(kind: str, values: dict[str, Any]) -> None:
    body = read(kind, tags=[label("a")], **values)
    found: list[TagLabel] = list(body.tag_labels())
    assert [found_label.tag_fqn for found_label in found] == ["a", "b", "c"]


def test_fields_of_an_endpoint_are_named_below_the_schema_that_they_are_in() -> None:
    schema = {"schemaType": "JSON", "schemaFields": [{"name": "id", "dataType": "STRING"}]}
    endpoint = read(
        "apiEndpoint",
        apiCollection="shop.orders",
        endpointURL="https://shop.example.org/orders",
        requestSchema=schema,
        responseSchema=schema,
        sourceUrl="https://shop.example.org/openapi.json",
    )
    shown = recorded(endpoint, "shop.orders.get")
    assert [
        shown[key]["schemaFields"][0]["fullyQualifiedName"]
        for key in ("requestSchema", "responseSchema")
    ] == ["shop.orders.get.requestSchema.id", "shop.orders.get.responseSchema.id"]
    assert shown["endpointURL"] == "https://shop.example.org/orders"
    assert "sourceUrl" not in shown


def test_dimensions_and_measures_of_a_metric_are_named_below_it() -> None:
    metric = read("metric", dimensions=[{"name": "region"}], measures=[{"name": "net.revenue"}])
    shown = recorded(metric, "revenue")
    assert shown["dimensions"] == [
        {"name": "region", "fullyQualifiedName": "revenue.dimension.region"}
    ]
    assert shown["measures"] == [
        {"name": "net.revenue", "fullyQualifiedName": 'revenue.measure."net.revenue"'}
    ]


def test_metric_with_unfit_measures_is_refused() -> None:
    with pytest.raises(ValidationError, match=r"length >= 1 - at `\$.measures\[0\].name`"):
        read("metric", measures=[{"name": ""}])
    many = read("metric", measures=[{"name": "a"}] * (MAX_PARTS + 1))
    with pytest.raises(InvalidInput, match="may have 20000 dimensions and as many measures"):
        many.complete("n")


def test_query_without_a_name_is_named_by_the_md5_of_its_text() -> None:
    query = msgspec.convert({"query": "SELECT 1", "service": "s"}, KINDS["query"].body)
    # printf 'SELECT 1' | md5sum
    checksum = "b1698e52a0f16203489454196a0c6307"
    assert (query.name, recorded(query, f"s.{checksum}")["checksum"]) == (checksum, checksum)
    named = read("query", query="SELECT 1", service="s", dialect="ansi", query_type="SELECT")
    assert named.name == "n"
    assert recorded(named, "s.n") == {
        "name": "n",
        "query": "SELECT 1",
        "service": "s",
        "query_type": "SELECT",
        "checksum": checksum,
    }


def test_outsider_keeps_an_id_and_refuses_what_it_cannot_name() -> None:
    given = "0191AB00-0000-7000-8000-000000000001"
    assert outsider(given, "role") == Reference(type="role", id=given.lower())
    with pytest.raises(InvalidInput, match="needs an id, a fullyQualifiedName or a name"):
        outsider(Reference(), "role")
    with pytest.raises(InvalidInput, match="a reference to a role has the type 'team'"):
        outsider(Reference(type="team", name="x"), "role")


def test_contract_short_forms_are_recorded_in_full() -> None:
    contract = read(
        "dataContract",
        entity={"id": "e", "type": "table"},
        termsOfUse="Ask first.",
    )
    shown = recorded(contract, "t.dataContract_n")
    assert shown["termsOfUse"] == {"content": "Ask first."}


def test_related_terms_may_be_written_as_names() -> None:
    term = read("glossaryTerm", glossary="g", relatedTerms=["g.other"])
    assert [(ref.fully_qualified_name, kinds) for ref, kinds in term.nested_references()] == [
        ("g.other", ("glossaryTerm",))
    ]
    assert recorded(term, "g.n")["relatedTerms"] == [
        {
            "term": {"type": "glossaryTerm", "fullyQualifiedName": "g.other"},
            "relationType": "relatedTo",
        }
    ]


def test_teams_of_a_user_may_be_given_by_id() -> None:
    given = "0191ab00-0000-7000-8000-000000000001"
    user = read("user", teams=[given, "Sales"])
    assert user.teams == [
        Reference(type="team", id=given),
        Reference(type="team", fully_qualified_name="Sales"),
    ]


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("pipelineService", {"serviceType": "Airflow", "lifeCycle": {}, "scheduleInterval": "x"}),
        ("user", {"password": "x", "confirmPassword": "x", "createPasswordType": "ADMIN_CREATE",
            "botName": "x", "authenticationMechanism": {"config": {"JWTToken": "x"}}}),
        ("tag", {"classification": "c", "associatedTags": ["x"]}),
    ],
)  # fmt: skip
def test_secrets_and_request_only_keys_are_not_recorded(kind: str, values: dict[str, Any]) -> None:
    row = KINDS[kind]
    shown = recorded(read(kind, **values), "n")
    assert shown.keys() & {*row.key_of.values()}.difference(row.keys) == set()


@pytest.mark.parametrize(
    ("begins", "ends", "refused"),
    [
        ("2025-01-02T00:00:00+02:00", "2025-01-01T21:59:59Z", True),
        ("2025-01-02T00:00:00+02:00", "2025-01-01T22:00:00Z", False),
        ("2025-01-01T00:00:01", "2025-01-01T00:00:00Z", True),
        ("2025-01-01T00:00:00", "2025-01-01T00:00:00Z", False),
        ("2025-01-01T00:00:00", None, False),
        (None, "2025-01-01T00:00:00Z", False),
    ],
)
def test_contract_does_not_end_before_it_begins(
    begins: str | None, ends: str | None, refused: bool
) -> None:
    dates = {"effectiveFrom": begins, "effectiveUntil": ends}
    given = {name: date for name, date in dates.items() if date is not None}
    contract = read("dataContract", entity={"type": "table", "id": str(UUID(int=1))}, **given)

    with pytest.raises(InvalidInput, match="before effectiveFrom") if refused else nullcontext():
        contract.complete("t.dataContract_n")


@pytest.mark.parametrize("kind", ["user", "team"])
def test_the_path_of_an_address_for_messages_is_not_recorded(kind: str) -> None:
    slack = {"endpoint": "https://hooks.slack.com/services/T0/B0/hunter2"}
    more = {"teamType": "Group"} if kind == "team" else {}
    body = read(kind, profile={"subscription": {"slack": slack}}, **more)
    shown = {"endpoint": "https://hooks.slack.com/*********"}
    assert recorded(body, "n")["profile"]["subscription"]["slack"] == shown
