"""Meaning of a log's URL to the driver: TLS, settings, and no secret in what is said."""

from pathlib import Path

import pytest

from benchmarks.postgres_server import PostgresServer, new_schema
from domain.errors import InvalidInput, StoreUnavailable
from domain.event_store.database_url import holds_password
from domain.event_store.opening import open_event_log
from domain.event_store.postgres.address import read_address
from tests.domain.event_store.postgres.proxy import proxying

VARIABLES = ("PGSSLMODE", "PGSSLROOTCERT", "SSL_CERT_FILE")


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def parameters(url: str) -> dict[str, str]:
    return dict(read_address(url, writable=True).parameters)


def test_certificate_is_verified_unless_the_url_says_how(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = parameters("postgresql://u@db.example/catalog")
    assert plain["sslmode"] == "verify-full"
    assert plain["sslrootcert"] == "system" or Path(plain["sslrootcert"]).is_file()
    own = parameters("postgresql://u@db.example/catalog?sslrootcert=/ca.pem")
    assert (own["sslmode"], own["sslrootcert"]) == ("verify-full", "/ca.pem")
    off = parameters("postgresql://u@db.example/catalog?sslmode=disable")
    assert (off["sslmode"], "sslrootcert" in off) == ("disable", False)
    monkeypatch.setenv("PGSSLMODE", "verify-ca")
    assert "sslmode" not in parameters("postgresql://u@db.example/catalog")


def test_keywords_are_refused_in_which_a_password_would_not_be_noticed() -> None:
    with pytest.raises(InvalidInput, match="not a URL") as refused:
        read_address("host=db.example user=u password=secret", writable=True)
    assert "secret" not in str(refused.value)


def test_server_without_tls_is_refused_unless_the_url_says_so(postgres: PostgresServer) -> None:
    schema = new_schema()
    with proxying(postgres.socket) as proxy:
        place = {name: proxy.parameters[name] for name in ("host", "port")}
        with pytest.raises(StoreUnavailable, match="server does not support SSL, but SSL was"):
            open_event_log(postgres.url(schema, **place))
        open_event_log(postgres.url(schema, **place, sslmode="disable")).close()


def test_schema_is_ours_and_the_rest_the_drivers() -> None:
    address = read_address(
        "postgres://u:p%40ss@db.example:5433/catalog?schema=one&connect_timeout=9", writable=False
    )
    assert address.schema == "one"
    given = {"user": "u", "password": "p@ss", "host": "db.example", "port": "5433"}
    assert given.items() <= address.parameters.items()
    assert address.parameters["connect_timeout"] == "9"
    assert "-c search_path=one " in address.parameters["options"]
    assert address.parameters["options"].endswith("-c default_transaction_read_only=on")
    assert read_address("postgresql:///db", writable=True).schema == "catalog"


def test_of_several_hosts_the_one_that_takes_writes_is_meant() -> None:
    several = parameters("postgresql://one.example,two.example:5433/catalog")
    assert several["target_session_attrs"] == "read-write"
    assert several["sslmode"] == "verify-full"
    assert "target_session_attrs" not in parameters("postgresql://one.example/catalog")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:s3cret@host:port/catalog",
        "postgresql://u:s3cret@host/catalog?nothing=1",
        "postgresql://u:s3c@ret@host/catalog",
        "postgresql://u:s3cret@host/catalog?schema=Not-One",
        "postgresql://u:s3cret@host/catalog?schema=a&schema=b",
        "postgresql://u:s3%2@host/catalog",
    ],
)
def test_url_that_is_wrong_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        open_event_log(url)
    assert "s3" not in caught.value.message
    assert "ret" not in caught.value.message
    assert caught.value.__cause__ is None


def test_password_stands_in_no_error() -> None:
    with pytest.raises(StoreUnavailable) as caught:
        open_event_log("postgresql://u:s3cret@127.0.0.1:1/catalog?sslmode=disable")
    assert "Connection refused" in caught.value.message
    assert "s3cret" not in str(caught.value.__cause__) + caught.value.message


@pytest.mark.parametrize(
    ("url", "held"),
    [
        ("postgresql://u@h/c", False),
        ("postgresql:///c?host=/run/postgresql&passfile=/run/pgpass", False),
        ("postgresql://u:p@h/c", True),
        ("postgresql://u:p@one,two:5432/c", True),
        ("postgresql://h/c?user=u&password=p", True),
        ("postgresql://[h/c", True),
    ],
)
def test_password_in_a_url_is_recognised(url: str, held: bool) -> None:
    assert holds_password(url) is held
