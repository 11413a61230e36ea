"""Connections of services: what is kept of them, and that no secret is."""

import json
import time
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.kinds.bodies import enumerations
from domain.kinds.bodies.connections import SECRET_KEYS, kept_keys, without_secrets
from domain.kinds.bodies.secret_texts import MASK

SERVICE_TYPES = [
    service_type
    for name, types in vars(enumerations).items()
    if name.endswith("ServiceType")
    for service_type in get_args(types)
]


def kept(service_type: str, **config: Any) -> Any:
    connection = without_secrets(service_type, {"config": config})
    return connection and connection["config"]


def test_known_keys_are_kept_in_their_order_and_secrets_masked() -> None:
    config = {
        "type": "Postgres",
        "scheme": "postgresql+psycopg2",
        "username": "reader",
        "authType": {"password": "hunter2"},
        "hostPort": "db.example:5432",
        "ingestAllDatabases": True,
        "schemaFilterPattern": {"includes": ["public"], "excludes": []},
    }
    assert kept("Postgres", **config) == {**config, "authType": {"password": MASK}}
    assert list(kept("Postgres", **config)) == list(config)


@pytest.mark.parametrize(
    ("service_type", "config"),
    [
        ("BigQuery", {"credentials": {"gcpConfig": '{"private_key": "hunter2"}'}}),
        ("BigQuery", {"credentials": {"gcpConfig": ["hunter2"]}}),
        ("Postgres", {"sslConfig": "hunter2"}),
        ("Postgres", {"sslMode": "-----BEGIN CERTIFICATE-----hunter2"}),
        ("Postgres", {"authType": "hunter2"}),
        ("Postgres", {"hostPort": ' {"inner": "hunter2"}'}),
        ("Hive", {"auth": "hunter2 "}),
        ("Teradata", {"logdata": "hunter2"}),
        ("Postgres", {"hostPort": "Bearer hunter2"}),
        ("Postgres", {"hostPort": "postgres://reader:hunter2%40db"}),
        ("Postgres", {"hostPort": "eyJhbGciOiJIUzI1NiJ9.hunter2"}),
        ("Postgres", {"databaseSchema": "x" * 2_000 + "hunter2"}),
    ],
)
def test_texts_that_may_be_whole_secrets_are_masked(
    service_type: str, config: dict[str, Any]
) -> None:
    shown = kept(service_type, **config)
    assert "hunter2" not in json.dumps(shown)
    assert MASK in json.dumps(shown)
    assert kept(service_type, **shown) == shown


@pytest.mark.parametrize(
    "address", ["http://db:8080", "https://db.example:443/x", "db:1", "[::1]:5"]
)
def test_ports_are_no_secrets(address: str) -> None:
    assert kept("Postgres", hostPort=address) == {"hostPort": address}


@pytest.mark.parametrize("part", ["pwd", "password", ":", "://", ";", "@", "eyJ", "basic "])
def test_long_texts_take_no_longer_than_others(part: str) -> None:
    before = time.thread_time()
    assert kept("Postgres", hostPort=part * 3_000_000) == {"hostPort": MASK}
    assert kept("Postgres", hostPort=part * (2_000 // len(part))) is not None
    assert time.thread_time() - before < 0.5


@pytest.mark.parametrize("name", ["scott/hunter2", "scott:hunter2", "scott[app]/hunter2"])
def test_a_user_is_masked_with_a_password_beside_it(name: str) -> None:
    assert kept("Oracle", username=name) == {"username": MASK}
    assert kept("Kafka", saslUsername=name) == {"saslUsername": MASK}
    assert kept("Oracle", username="scott") == {"username": "scott"}


def test_secrets_inside_free_texts_are_masked_in_lists_and_inner_objects() -> None:
    text = 'x {"password": "hunter2"}'
    config = {"databaseFilterPattern": {"includes": ["shop", text]}, "path": "pw=hunter2"}
    assert kept("Mysql", **config) == {
        "databaseFilterPattern": {"includes": ["shop", MASK]},
        "path": MASK,
    }


def test_one_word_of_a_list_is_kept() -> None:
    assert kept("Hive", auth="LDAP") == {"auth": "LDAP"}


@pytest.mark.parametrize(
    "config",
    [
        {"connectionArguments": {"sslkey": "hunter2"}},
        {"connectionOptions": {"password": "hunter2"}},
        {"passwort": "hunter2"},
        {"warehouse": "hunter2"},
        {"hostPort": {"inner": {"more": "hunter2"}}},
        {"password": ["hunter2"]},
        {"token": {"value": "hunter2"}},
        {"scopes": [{"value": "hunter2"}]},
    ],
)
def test_what_is_not_known_to_be_harmless_is_left_out(config: dict[str, Any]) -> None:
    shown = kept("Postgres", type="Postgres", **config)
    assert shown["type"] == "Postgres"
    assert "hunter2" not in json.dumps(shown)


def test_which_keys_are_kept_depends_on_the_type_of_service() -> None:
    assert kept("Snowflake", warehouse="W", account="a") == {"warehouse": "W", "account": "a"}
    assert kept("Mysql", warehouse="W", account="a") is None


@pytest.mark.parametrize(
    "text",
    [
        "https://user:hunter2@host:8080/path",
        "mongodb+srv://hunter2@host",
        "user:hunter2@host",
        "user/hunter2@//host:1521/service",
        "host:1433;UID=a;PWD = hunter2",
        "https://host/api?access_token=hunter2",
        "https://host/sas?sv=1&sig=hunter2",
    ],
)
def test_texts_that_hold_a_secret_are_masked_whole(text: str) -> None:
    assert kept("Mysql", hostPort=text) == {"hostPort": MASK}
    assert kept("Mysql", scopes=[text, "plain"]) == {"scopes": [MASK, "plain"]}


@pytest.mark.parametrize(
    "text", ["me@company.example", "localhost:3306", "https://host/path?a=b", "C:\\data", "a/b"]
)
def test_plain_texts_stay(text: str) -> None:
    assert kept("Mysql", hostPort=text) == {"hostPort": text}


def test_looking_for_secrets_in_a_text_takes_time_in_proportion_to_its_length() -> None:
    begun = time.thread_time()
    for text in ("key" * 300_000, ":/" * 500_000, "a@" * 500_000, "pass " * 200_000):
        kept("Mysql", hostPort=text)
    assert time.thread_time() - begun < 2


@pytest.mark.parametrize("connection", [{}, {"config": None}, {"config": "x"}, {"other": {"a": 1}}])
def test_a_connection_with_nothing_known_in_it_is_none(connection: dict[str, Any]) -> None:
    assert without_secrets("Mysql", connection) is None


def test_no_key_that_is_kept_as_a_text_is_a_secret() -> None:
    assert SERVICE_TYPES
    for service_type in SERVICE_TYPES:
        both = kept_keys(service_type) & SECRET_KEYS
        assert both <= {"credentials"}  # an object of some types, and a secret of others


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["type", "password", "hostPort", "config", "awsConfig", "x", "scopes"]
                ),
                inner,
            )
        ),
        max_leaves=12,
    )
)
def test_what_is_kept_is_kept_again_unchanged(config: Any) -> None:
    once = without_secrets("Athena", {"config": config})
    if once is not None:
        assert without_secrets("Athena", once) == once
