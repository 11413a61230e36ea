"""Every error has one shape, the framework's own included."""

import errno
import os

import pytest

from domain.errors import StoreUnavailable
from tests.api.conftest import Client, body_of


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
