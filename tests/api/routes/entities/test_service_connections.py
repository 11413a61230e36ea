"""Connections of services over HTTP: shown without secrets, and in no other place at all."""

from pathlib import Path
from typing import Any

from tests.api.conftest import Client, over_files, running_under

PATH = "/v1/services/databaseServices"
MASK = "*********"


def connection(**config: Any) -> dict[str, Any]:
    """A connection as OpenMetadata's client sends it."""
    return {
        "config": {
            "type": "Postgres",
            "scheme": "postgresql+psycopg2",
            "username": "reader",
            "hostPort": "kubikel.example:5432",
            "database": "shop",
            "authType": {"password": "hunter2"},
            "connectionArguments": {"sslkey": "hunter2"},
            **config,
        }
    }


def put(client: Client, **config: Any) -> Any:
    body = {"name": "shop", "serviceType": "Postgres", "connection": connection(**config)}
    response = client.request("PUT", PATH, json=body, role="bot")
    assert response.status_code in (200, 201), response.text
    return response.json()


def test_a_connection_is_answered_without_its_secrets_by_every_read(client: Client) -> None:
    created = put(client)
    known = {key: value for key, value in connection()["config"].items() if key != "authType"}
    del known["connectionArguments"]
    shown = {"config": {**known, "authType": {"password": MASK}}}

    assert created["connection"] == shown
    assert client.get(f"{PATH}/name/shop")["connection"] == shown
    assert client.get(PATH)["data"][0]["connection"] == shown
    assert client.get(f"{PATH}/{created['id']}/versions/0.1")["connection"] == shown


def test_a_repeated_put_and_one_of_the_masked_value_store_nothing(client: Client) -> None:
    created = put(client)

    assert put(client)["version"] == created["version"]
    assert put(client, authType={"password": MASK})["version"] == created["version"]
    assert put(client, authType={"password": "another"})["version"] == created["version"]
    patch = [{"op": "add", "path": "/connection/config/authType/password", "value": "another"}]
    status, patched = client.ask("PATCH", f"{PATH}/{created['id']}", json=patch)
    assert (status, patched["version"]) == (200, created["version"])
    assert client.get("/v1/audit/events")["paging"]["head"] == 1
    assert put(client, hostPort="other:5432")["version"] == 0.2


@over_files
def test_a_secret_is_in_no_file_of_the_data_directory(client: Client) -> None:
    put(client)
    bulk = {"name": "more", "serviceType": "Mysql", "connection": connection()}
    result = client.request("PUT", f"{PATH}/bulk", json=[bulk])
    assert result.json()["numberOfRowsPassed"] == 1
    assert "hunter2" not in result.text
    client.search_until(lambda found: found["hits"]["total"]["value"] == 2, q="*")

    files = [path.read_bytes() for path in client.directory.rglob("*") if path.is_file()]
    assert any(b"kubikel" in content for content in files)
    assert not any(b"hunter2" in content for content in files)


def test_a_refusal_does_not_tell_what_the_connection_was(client: Client) -> None:
    body = {"name": "shop", "serviceType": "Unheard", "connection": connection()}
    refused = [client.request("PUT", PATH, json=body)]
    body = {"name": "shop", "serviceType": "Mysql", "connection": "hunter2"}
    refused.append(client.request("PUT", PATH, json=body))

    assert [response.status_code for response in refused] == [400, 400]
    assert not any("hunter2" in response.text for response in refused)


def test_a_connection_cannot_be_searched_and_is_in_no_hit(client: Client) -> None:
    put(client)
    found = client.search_until(lambda found: found["hits"]["total"]["value"] == 1, q="shop")
    assert "connection" not in found["hits"]["hits"][0]["_source"]
    assert client.get("/v1/search/query", q="kubikel")["hits"]["total"]["value"] == 0
    for query in ("connection.config.hostPort:kubikel", "_exists_:connection"):
        status, _ = client.ask("GET", "/v1/search/query", params={"q": query})
        assert status == 400


def test_a_connection_can_be_withheld_from_readers(tmp_path: Path) -> None:
    with running_under(
        tmp_path,
        '[[rule]]\nrole = "bot"\nallow = ["list", "view", "search", "create", "edit"]\n'
        '[[rule]]\nrole = "reader"\nallow = ["list", "view"]\nwithhold = ["connection"]\n',
    ) as client:
        created = put(client)
        for path in (f"{PATH}/name/shop", PATH):
            assert "hostPort" not in client.request("GET", path, role="reader").text
        assert created["connection"]
