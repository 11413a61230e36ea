"""Names of OpenLineage as names of the catalog."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.kinds.names import join, split
from domain.openlineage.naming import (
    DATABASE,
    MESSAGING,
    STORAGE,
    Container,
    Service,
    candidates,
    fitting_services,
    longest_container,
)
from domain.openlineage.places import container_of, service_of
from tests.depth import examples


def service(kind: str = DATABASE, type_: str = "Postgres", **config: object) -> Service:
    document = {
        "fullyQualifiedName": "s",
        "serviceType": type_,
        "connection": {"config": config},
    }
    return service_of(kind, document)


@pytest.mark.parametrize(
    ("namespace", "kind", "type_", "config", "fits"),
    [
        ("postgres://db:5432", DATABASE, "Postgres", {"hostPort": "db:5432"}, True),
        ("postgres://DB:5432", DATABASE, "Postgres", {"hostPort": "db"}, True),
        ("postgres://db", DATABASE, "Postgres", {"hostPort": "http://db:5432/x"}, True),
        ("postgres://user@db:5432", DATABASE, "Postgres", {"hostPort": "db:5432"}, True),
        ("postgres://db:5433", DATABASE, "Postgres", {"hostPort": "db:5432"}, False),
        ("postgres://db:5432", DATABASE, "Mysql", {"hostPort": "db:5432"}, False),
        ("postgres://db:5432", DATABASE, "Postgres", {}, False),
        ("snowflake://org-one", DATABASE, "Snowflake", {"account": "ORG-one"}, True),
        ("redshift://examplecluster.us-west-2:5439", DATABASE, "Redshift",
         {"hostPort": "examplecluster.abc.us-west-2.redshift.amazonaws.com:5439"}, True),
        ("bigquery", DATABASE, "BigQuery", {}, True),
        ("hive://m:9083", DATABASE, "Hive", {"metastoreHostPort": "m:9083"}, True),
        ("awsathena://athena.eu-1.amazonaws.com", DATABASE, "Athena",
         {"awsConfig": {"awsRegion": "eu-1"}}, True),
        ("kafka://b:9092", MESSAGING, "Kafka", {"bootstrapServers": "a:9092, b:9092"}, True),
        ("kafka://c:9092", MESSAGING, "Kafka", {"bootstrapServers": "a:9092,b:9092"}, False),
        ("s3://bucket", STORAGE, "S3", {}, True),
        ("gs://bucket", STORAGE, "S3", {}, False),
        ("duckdb:///x", DATABASE, "CustomDatabase", {}, False),
    ],
)  # fmt: skip
def test_namespace_fits_a_service_by_type_and_place(
    namespace: str, kind: str, type_: str, config: dict[str, object], fits: bool
) -> None:
    known = service(kind, type_, **config)
    assert (fitting_services(namespace, [known]) == [known]) is fits


@pytest.mark.parametrize(
    ("kind", "type_", "name", "expected"),
    [
        (DATABASE, "Postgres", "shop.sales.orders", ["s.shop.sales.orders"]),
        (DATABASE, "Postgres", "sales.orders", []),
        (DATABASE, "Postgres", "orders", []),
        (DATABASE, "Mysql", "shop.orders", ["s.default.shop.orders"]),
        (DATABASE, "Mysql", "a.b.c", ["s.a.b.c"]),
        (DATABASE, "Postgres", "a.b.c.d",
         ['s.a.b."c.d"', 's.a."b.c".d', 's."a.b".c.d']),
        (DATABASE, "Postgres", "a..b", []),
        (MESSAGING, "Kafka", "orders.v1", ['s."orders.v1"']),
    ],
)  # fmt: skip
def test_names_have_the_form_of_their_service(
    kind: str, type_: str, name: str, expected: list[str]
) -> None:
    assert [*candidates(service(kind, type_), name)] == expected


def test_case_of_a_rule_is_that_of_the_candidates() -> None:
    assert [*candidates(service(), "A.b.C", "lower")] == ["s.a.b.c"]
    assert [*candidates(service(), "A.b.C", "upper")] == ["s.A.B.C"]


@given(name=st.text(alphabet="ab.\"'é ", min_size=1, max_size=40))
@settings(max_examples=examples(200), deadline=None)
def test_candidates_are_qualified_names_that_say_the_name(name: str) -> None:
    for fqn in candidates(service(), name):
        above, *parts = split(fqn)
        assert (above, len(parts), ".".join(parts)) == ("s", 3, name)
        assert join([above, *parts]) == fqn


def test_long_names_have_few_candidates() -> None:
    assert len([*candidates(service(), ".".join("a" * 1_000))]) <= 200


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("orders/2026/x.csv", "lake.orders"),
        ("orders", "lake.orders"),
        ("ordersome", "lake.raw"),
        ("x", "lake.raw"),
    ],
)
def test_files_are_in_the_container_with_the_longest_path(name: str, expected: str) -> None:
    lake = Service(STORAGE, "lake", "S3")
    containers = [
        Container("lake.raw", "lake", "s3://shop-raw"),
        Container("lake.orders", "lake", "s3://shop-raw/orders/"),
        Container("other.orders", "other", "s3://shop-raw/orders/2026"),
    ]
    assert longest_container("s3a://shop-raw", name, [lake], containers) == expected
    doubled = [*containers, Container("lake.twice", "lake", "s3://shop-raw/orders")]
    assert longest_container("s3://shop-raw", "orders/x", [lake], doubled) is None


def test_container_without_path_is_none() -> None:
    assert container_of({"fullyQualifiedName": "a", "service": {}}) is None
