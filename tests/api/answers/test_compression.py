"""Large bodies are compressed for clients that accept it; known entities are not sent again."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from api.answers.compression import COMPRESSED_FROM, accepts_gzip
from tests.api.conftest import Client, running

SMALL, LARGE, VERY_LARGE = 1_000, COMPRESSED_FROM, 900_000


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with running(tmp_path_factory.mktemp("compression")) as client:
        client.schema()
        for name, size in (("small", SMALL), ("large", LARGE), ("very_large", VERY_LARGE)):
            client.table(name, description=f"{name} " * (size // len(name)))
        yield client


@pytest.mark.parametrize(
    ("header", "accepted"),
    [
        ("gzip", True),
        ("x-gzip", True),
        ("GZIP;q=0.5", True),
        ("br, gzip ;q=1.0", True),
        ("deflate, *", True),
        ("*;q=0.1", True),
        ("gzip, identity", True),
        ("gzip;q=0.5, identity;q=0.5", True),
        ("gzip;q=0.5, identity", False),
        ("identity;q=0.3, *;q=0.2", False),
        ("gzip;q=0, *", False),
        ("gzip;q=0.000", False),
        ("*;q=0", False),
        ("identity", False),
        ("br, zstd", False),
        ("", False),
        ("gzipped", False),
    ],
)
def test_accepted_encodings(header: str, accepted: bool) -> None:
    assert accepts_gzip([(b"host", b"x"), (b"accept-encoding", header.encode())]) is accepted


def test_without_the_header_nothing_is_compressed() -> None:
    assert not accepts_gzip([(b"host", b"gzip")])


@pytest.mark.parametrize("name", ["small", "large", "very_large"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_body_is_compressed_where_it_is_large(world: Client, name: str, method: str) -> None:
    path = f"/v1/tables/name/service.database.schema.{name}"
    given = {
        encoding: world.request(method, path, headers={"Accept-Encoding": encoding})
        for encoding in ("identity", "gzip")
    }
    plain, small = given["identity"], given["gzip"]

    assert plain.content == small.content
    assert "Content-Encoding" not in plain.headers
    assert (small.headers.get("Content-Encoding") == "gzip") is (name != "small")
    # Caches must tell both apart, whichever they have.
    varied = None if name == "small" else "accept-encoding"
    assert [answer.headers.get("Vary") for answer in (plain, small)] == [varied] * 2
    if name != "small":
        length = int(plain.headers["Content-Length"])
        assert int(small.headers["Content-Length"]) < length / 10
    assert small.headers["ETag"] == plain.headers["ETag"]


def test_page_with_a_large_entity_is_compressed(world: Client) -> None:
    answers = [
        world.request("GET", "/v1/tables?limit=1", headers={"Accept-Encoding": encoding})
        for encoding in ("identity", "gzip", "gzip")
    ]

    assert len({answer.content for answer in answers}) == 1
    assert [a.headers.get("Content-Encoding") for a in answers] == [None, "gzip", "gzip"]


@pytest.mark.parametrize("address", ["/v1/tables/{id}", "/v1/tables/name/{fullyQualifiedName}"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("name", ["small", "large", "very_large"])
def test_known_state_of_an_entity_is_304(
    world: Client, name: str, method: str, address: str
) -> None:
    table = world.get(f"/v1/tables/name/service.database.schema.{name}")
    whole = world.request(method, f"/v1/tables/{table['id']}")
    path = address.format(**table)
    tag = whole.headers["ETag"]

    for known in (tag, tag.removeprefix("W/"), f'"x", {tag}', "*"):
        answer = world.request(method, path, headers={"If-None-Match": known})
        assert (answer.status_code, answer.content) == (304, b"")
        assert answer.headers["ETag"] == tag
        assert "Content-Type" not in answer.headers
    other = world.request(method, path, headers={"If-None-Match": 'W/"7.0"'})
    assert (other.status_code, other.content) == (200, whole.content)


def test_changed_entity_is_sent_again(client: Client) -> None:
    client.schema()
    path = f"/v1/tables/{client.table()['id']}"
    tag = client.request("GET", path).headers["ETag"]
    patch = [{"op": "add", "path": "/description", "value": "new"}]
    client.request("PATCH", path, json=patch)
    answer = client.request("GET", path, headers={"If-None-Match": tag})

    assert (answer.status_code, answer.json()["description"]) == (200, "new")


def test_who_may_see_more_than_before_is_sent_it(tmp_path: Path) -> None:
    file = tmp_path / "policies.toml"
    rule = '[[rule]]\nrole = "admin"\nallow = ["list", "view", "search", "create", "edit"]\n'
    file.write_text(f'{rule}withhold = ["owners"]\n')
    with running(tmp_path, policies=str(file)) as client:
        made = client.create("glossaries", name="g", description="x")
        path = f"/v1/glossaries/{made['id']}"
        patch = [{"op": "add", "path": "/description", "value": "y"}]
        written = client.request("PATCH", path, json=patch)
        tags = {written.headers["ETag"], client.request("GET", path).headers["ETag"]}
        known = [
            client.request("GET", path, headers={"If-None-Match": tag}).status_code for tag in tags
        ]
        file.write_text(rule)
        more = [
            client.request("GET", path, headers={"If-None-Match": tag}).status_code for tag in tags
        ]
        again = {"If-Match": written.headers["ETag"]}
        patch[0]["value"] = "z"
        changed = client.request("PATCH", path, json=patch, headers=again)

    assert (known, more) == ([304], [200])
    assert (changed.status_code, changed.json()["version"]) == (200, 0.3)
    assert again["If-Match"].count("-") == changed.headers["ETag"].count("-") + 1
