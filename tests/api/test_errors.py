"""Every error has one shape, the framework's own included."""

import errno
import os
from pathlib import Path

import pytest

from domain.errors import StoreUnavailable
from tests.api.conftest import Client, body_of, running


@pytest.mark.parametrize(
    ("method", "path", "status", "error_type"),
    [
        ("GET", "/nowhere", 404, "NOT_FOUND"),
        ("GET", "/v1/nowhere", 404, "NOT_FOUND"),
        ("DELETE", "/v1/tables", 405, "METHOD_NOT_ALLOWED"),
        ("POST", "/healthz", 405, "METHOD_NOT_ALLOWED"),
        ("GET", "/v1/tables?limit=x", 400, "BAD_REQUEST"),
        ("GET", "/v1/search/query", 400, "BAD_REQUEST"),
        ("GET", "/v1/search/query?q=a&size=-1", 400, "BAD_REQUEST"),
    ],
)
def test_error_has_the_one_shape(
    empty: Client, method: str, path: str, status: int, error_type: str
) -> None:
    response = empty.request(method, path)
    body = response.json()

    assert response.headers["Content-Type"].startswith("application/json")
    assert sorted(body) == ["code", "errorType", "message", "requestId"]
    assert (response.status_code, body["code"], body["errorType"]) == (status, status, error_type)
    assert body["message"]


def test_path_without_a_route_says_which_there_are(empty: Client) -> None:
    ways = [
        ("GET", "/v1/tables/name/a.b.c.d/export", 404, "there is no route GET /v1/tables/name/a.b"),
        (
            "DELETE",
            "/api/v1/tables/name/a/b",
            404,
            "there is no route DELETE /api/v1/tables/name/a",
        ),
        ("PUT", "/v1/tables/name/a.b.c.d/import", 405, "Method Not Allowed: PUT /v1/tables/name/a"),
        ("GET", "/v1/tables/a/export", 404, "Not Found: GET /v1/tables/a/export"),
        ("DELETE", "/v1/tables", 405, "Method Not Allowed: DELETE /v1/tables"),
    ]
    for method, path, expected, begins in ways:
        status, answer = empty.ask(method, path)
        assert (status, answer["message"].startswith(begins)) == (expected, True), answer
        said = answer["message"].partition("; at /v1/tables there are ")[2]
        known = said.split(", /")
        assert known[0] == "(GET, POST, PUT)"
        assert {
            *("bulk (PUT)", "name/{fqn} (GET, PATCH, DELETE)", "name/{fqn}/columns (GET)"),
            *("{entity_id} (GET, PATCH, DELETE)", "{table}/sampleData (GET, PUT, DELETE)"),
        } <= {*known}
        assert "databaseSchemas" not in said
    of_suites = empty.ask("GET", "/v1/dataQuality/testSuites/a/b")[1]["message"]
    assert "at /v1/dataQuality/testSuites there are (GET, POST, PUT), /async" in of_suites


def test_entity_with_a_slash_in_its_name_is_found_and_what_it_lacks_is_named(
    tmp_path: Path,
) -> None:
    with running(tmp_path) as client:
        client.create("domains", name="a/b", domainType="Aggregate")
        assert client.get("/v1/domains/name/a/b")["name"] == "a/b"
        tag = {"tagFQN": "No.Such", "source": "Classification"}
        patch = [{"op": "add", "path": "/tags", "value": [tag]}]
        status, answer = client.ask("PATCH", "/v1/domains/name/a/b", json=patch)
        assert (status, answer["message"]) == (404, "tags: tag instance for 'No.Such' not found")


def test_name_that_nothing_has_says_no_more(empty: Client) -> None:
    for name in ("a.b.c.d", "a.b.c.d%2Fexport"):
        status, answer = empty.ask("GET", f"/v1/tables/name/{name}")
        assert (status, answer["errorType"]) == (404, "ENTITY_NOT_FOUND")
        assert answer["message"].endswith(" not found")
    for path in ("/nowhere", "/v1/nowhere", "/v1/tablesque/a/b"):
        assert empty.ask("GET", path)[1]["message"] == f"Not Found: GET {path}"


def test_unforeseen_error_is_500_and_says_nothing(
    empty: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("a secret path: /etc/shadow")

    monkeypatch.setattr("api.routes.entities.reads.small_page", fail)
    response = empty.request("GET", "/v1/tables")

    assert response.status_code == 500
    assert body_of(response) == {
        "code": 500,
        "errorType": "INTERNAL_ERROR",
        "message": "the catalog failed to answer; the log says why",
    }


def test_unavailable_store_is_503_and_says_when_to_try_again(
    empty: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise StoreUnavailable("the disk is full")

    monkeypatch.setattr("api.routes.entities.reads.small_page", fail)
    response = empty.request("GET", "/v1/tables?limit=3")

    assert (response.status_code, response.json()["message"]) == (503, "the disk is full")
    assert response.headers["Retry-After"] == "1"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_disk_that_takes_no_more_is_503_wherever_the_error_is_raised(
    empty: Client, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number), "/secret/place")

    monkeypatch.setattr("api.routes.entities.reads.small_page", fail)
    response = empty.request("GET", "/v1/tables?limit=3")

    assert response.status_code == 503
    assert response.json()["message"] == "nothing can be stored: the disk is full"
    assert response.headers["Retry-After"] == "1"


def test_body_that_is_too_large_is_413(empty: Client) -> None:
    response = empty.request("POST", "/v1/tables", content=b"x" * 11_000_000)

    assert (response.status_code, response.json()["errorType"]) == (413, "PAYLOAD_TOO_LARGE")
