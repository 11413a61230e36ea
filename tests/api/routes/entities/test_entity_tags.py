"""Entity tags tell a state that was seen from others that have its version."""

import asyncio
import re
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from litestar import Request

from api.answers.bodies import JSON_TYPES, BodyBytes
from api.callers.limits import Places
from api.use_cases.entity_writes import read_asked
from domain.errors import InvalidInput
from domain.event_store.transfer import ExportReader, export
from projections.wiring.stores import open_log
from tests.api.conftest import Client, database_of, running
from tests.waiting import until

PATH = "/v1/glossaries"
NAMED = f"{PATH}/name/g"
TAG = re.compile(r'W/"0\.(\d)-[0-9a-f]{8}"')
PATCH = [{"op": "add", "path": "/description", "value": "mine"}]


def put(client: Client, description: str, role: str = "admin", **headers: str) -> Any:
    body = {"name": "g", "description": description}
    return client.request("PUT", PATH, json=body, role=role, headers=headers)


def made_anew(client: Client) -> str:
    """The tag of a glossary that was purged; another's has its name, at the same version."""
    first = put(client, "first")
    assert first.status_code == 201
    purge = f"{PATH}/{first.json()['id']}?hardDelete=true"
    assert client.request("DELETE", purge).status_code == 200
    assert put(client, "theirs", "editor").status_code == 201
    tag: str = first.headers["ETag"]
    return tag


@pytest.mark.parametrize(
    "write",
    [
        lambda client, tag: put(client, "mine", **tag),
        lambda client, tag: client.request("PATCH", NAMED, json=PATCH, headers=tag),
        lambda client, tag: client.request("DELETE", NAMED, headers=tag),
        lambda client, tag: client.request("DELETE", f"{NAMED}?hardDelete=true", headers=tag),
    ],
    ids=["put", "patch", "delete", "purge"],
)
def test_write_by_name_is_not_done_to_an_entity_made_anew(
    client: Client, write: Callable[[Client, dict[str, str]], Any]
) -> None:
    tag = made_anew(client)
    theirs = client.get(NAMED)

    refused = write(client, {"If-Match": tag})

    assert (refused.status_code, theirs["version"]) == (412, 0.1), refused.text
    assert "at another one than the entity tag is of" in refused.json()["message"]
    assert client.get(NAMED) == theirs
    now = client.request("GET", NAMED).headers["ETag"]
    assert write(client, {"If-Match": now}).status_code == 200


@pytest.mark.parametrize("bare", ["0.1", '"0.1"', 'W/"0.1"'])
def test_version_alone_means_whatever_entity_is_at_it(client: Client, bare: str) -> None:
    made_anew(client)

    assert put(client, "mine", **{"If-Match": bare}).status_code == 200
    assert put(client, "again", **{"If-Match": bare}).status_code == 412


def test_tag_is_the_same_in_every_answer_about_one_state(client: Client) -> None:
    written = put(client, "first")
    path = f"{PATH}/{written.json()['id']}"
    keyed = {"Idempotency-Key": "k"}
    answers = [
        written,
        put(client, "first"),
        *(client.request("GET", each) for each in (path, NAMED, f"{path}?fields=owners")),
    ]
    changed = [client.request("PATCH", path, json=PATCH, headers=keyed) for _ in range(2)]
    changed.append(client.request("GET", path))

    for same, version in ((answers, "1"), (changed, "2")):
        (tag,) = {answer.headers["ETag"] for answer in same}
        assert (match := TAG.fullmatch(tag))
        assert match[1] == version


@pytest.mark.parametrize("spelled", ["{}", '"{}"', 'W/"{}"'])
def test_tag_is_taken_however_it_is_spelled(client: Client, spelled: str) -> None:
    tag = put(client, "first").headers["ETag"].removeprefix('W/"').removesuffix('"')
    before = {"If-Match": spelled.format(tag)}

    assert put(client, "second", **before).status_code == 200
    assert put(client, "third", **before).status_code == 412


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_entity_is_sent_unless_its_very_state_is_known(client: Client, method: str) -> None:
    gone = made_anew(client)
    for path in (NAMED, f"{PATH}/{client.get(NAMED)['id']}"):
        whole = client.request(method, path)
        tag = whole.headers["ETag"]
        for _ in range(2):  # the second time, by an answer that is remembered
            again = client.request(method, path, headers={"If-None-Match": gone})
            assert (again.status_code, again.content) == (200, whole.content)
            known = client.request(method, path, headers={"If-None-Match": f"{gone}, {tag}"})
            assert (known.status_code, known.headers["ETag"]) == (304, tag)
        bare = client.request(method, path, headers={"If-None-Match": 'W/"0.1"'})
        assert bare.status_code == 200


@contextmanager
def imported(client: Client, directory: Path) -> Iterator[Client]:
    """A client of an application over a copy of another's log as it is now."""
    directory.mkdir()
    with (
        closing(open_log(client.directory, database_of(client.directory))) as log,
        log.snapshot() as snapshot,
        closing(open_log(directory, database_of(directory))) as copy,
    ):
        rows = ExportReader(export(log, snapshot), "the export").rows()
        deque(copy.restore(rows), maxlen=0)
    with running(directory) as started:
        until(lambda: started.request("GET", "/readyz").status_code == 200)
        yield started


def test_tag_of_what_an_older_copy_of_the_log_does_not_have_is_of_nothing(
    client: Client, tmp_path: Path
) -> None:
    put(client, "first")
    with imported(client, tmp_path / "older") as older:
        lost = put(client, "lost")
        path, gone = f"{PATH}/{lost.json()['id']}", lost.headers["ETag"]
        assert put(older, "theirs", "editor").status_code == 200
        theirs = older.get(path)
        assert (theirs["id"], theirs["version"]) == (lost.json()["id"], lost.json()["version"])

        for each in (path, NAMED):
            shown = older.request("GET", each, headers={"If-None-Match": gone})
            assert (shown.status_code, shown.json()) == (200, theirs)
        kept = {"If-Match": gone}
        for refused in (
            put(older, "mine", **kept),
            older.request("PATCH", path, json=PATCH, headers=kept),
            older.request("DELETE", path, headers=kept),
        ):
            assert refused.status_code == 412
            assert refused.json()["message"] == (
                "glossary 'g' is at version 0.2, but at another one than the entity tag is of:"
                " that one is gone"
            )
        assert older.get(path) == theirs


def test_what_both_copies_of_a_log_have_has_one_tag(client: Client, tmp_path: Path) -> None:
    tag = put(client, "first").headers["ETag"]
    with imported(client, tmp_path / "copy") as copy:
        known = copy.request("GET", NAMED, headers={"If-None-Match": tag})
        changed = put(copy, "second", **{"If-Match": tag})

    assert (known.status_code, changed.status_code) == (304, 200)


@pytest.mark.parametrize("name", ["if-match", "if-none-match", "idempotency-key"])
def test_condition_that_is_given_twice_is_refused(name: str) -> None:
    """The second one would be passed over."""
    given = [("content-type", "application/json"), (name, "*"), (name, 'W/"0.1"')]
    scope: Any = {
        "type": "http",
        "method": "PUT",
        "path": PATH,
        "raw_path": PATH.encode(),
        "query_string": b"",
        "headers": [(key.encode(), value.encode()) for key, value in given],
        "state": {"body": BodyBytes(Places(9, "bytes")), "request_id": "r"},
    }

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    with pytest.raises(InvalidInput, match=f"the header {name} may be given once, got it 2 times"):
        asyncio.run(read_asked(Request(scope, receive), JSON_TYPES))
