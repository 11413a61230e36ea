"""Answers are remembered within bytes, and never beyond the revision that they were made from."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from api.answers.remembered_answers import (
    LONGEST,
    LONGEST_ADDRESS,
    MOST_BYTES,
    RememberedAnswers,
    key_of,
)
from api.answers.responses import Finished
from projections.search.answers.queries import SearchAnswer
from tests.api.conftest import Client, over_files, running, running_under, token

POLICIES = """
[[rule]]
role = "admin"
allow = ["list", "view", "search", "create", "edit", "delete"]
{more}
"""


def test_answer_of_the_same_revision_is_given_again() -> None:
    answers, answer = RememberedAnswers(), Finished(b"x")
    answers.keep("key", 1, answer)

    assert answers.get("key", 1) is answer
    assert answers.get("other", 1) is None


def test_answer_that_is_asked_for_once_is_not_worth_keeping() -> None:
    answers = RememberedAnswers()
    answers.keep("kept", 1, Finished(b"x"))

    assert answers.is_worth_keeping("kept")
    assert not answers.is_worth_keeping("key")
    assert answers.is_worth_keeping("key")


def test_answer_of_another_revision_is_forgotten() -> None:
    answers = RememberedAnswers()
    answers.keep("key", 1, Finished(b"x"))

    assert answers.get("key", 2) is None
    assert answers.get("key", 1) is None


def test_newer_answer_takes_the_place_of_an_older_one() -> None:
    answers, newer = RememberedAnswers(), Finished(b"y")
    for _ in range(3 * MOST_BYTES // LONGEST):
        answers.keep("key", 1, Finished(b"x" * LONGEST))
    answers.keep("other", 1, newer)

    assert answers.get("other", 1) is newer
    assert answers.get("key", 1) is not None


def test_long_answer_is_not_kept() -> None:
    answers = RememberedAnswers()
    answers.keep("key", 1, Finished(b"x" * (LONGEST + 1)))

    assert answers.get("key", 1) is None


def test_answers_used_longest_ago_are_forgotten_when_there_are_many_bytes() -> None:
    answers = RememberedAnswers()
    count = 2 * MOST_BYTES // LONGEST
    for number in range(count):
        answers.keep(number, 1, Finished(bytes(LONGEST)))
        assert answers.get(0, 1) is not None
    kept = [number for number in range(count) if answers.get(number, 1) is not None]

    assert kept[0] == 0
    assert kept[1:] == [*range(count - len(kept) + 1, count)]
    assert 0.95 * MOST_BYTES < len(kept) * LONGEST <= MOST_BYTES


@pytest.mark.parametrize(("path", "query"), [("/x" * 513, b""), ("/x", b"x" * LONGEST_ADDRESS)])
def test_answer_to_a_long_address_is_not_kept(path: str, query: bytes) -> None:
    answers = RememberedAnswers()
    key = key_of({"path": path, "query_string": query, "auth": object()})
    answers.keep(key, 1, Finished(b"x"))

    assert key is None
    assert answers.get(key, 1) is None


def test_small_answers_are_bounded_too() -> None:
    answers = RememberedAnswers()
    for number in range(100_000):
        answers.keep(number, 1, Finished(b""))

    assert answers.get(0, 1) is None
    assert answers.get(99_999, 1) is not None


TOKENS = {role: token(role) for role in ("admin", "reader")}
"""Made once: the first request with a token is never answered directly."""


def get(client: Client, path: str, role: str = "admin") -> Any:
    return client.http.get(path, headers={"Authorization": f"Bearer {TOKENS[role]}"})


def test_reads_between_writes_are_those_of_the_newest_commit(client: Client) -> None:
    seed = Random().randrange(2**32)
    print(f"seed {seed}")
    random = Random(seed)
    client.schema()
    tables = [client.table(f"t{number}") for number in range(4)]
    paths = ["/v1/tables?limit=3", "/v1/tables?include=all", f"/v1/tables/{tables[0]['id']}"]
    for number in range(40):
        table = random.choice(tables)
        path = f"/v1/tables/{table['id']}"
        if random.random() < 0.7:
            patch = [{"op": "add", "path": "/description", "value": str(number)}]
            client.request("PATCH", path, json=patch)
        elif random.random() < 0.5:
            client.request("DELETE", path)
        else:
            client.request("PUT", "/v1/tables/restore", json={"id": table["id"]})
        for path in random.sample(paths, 2):
            # Such a path is not plain, but for the route it is the same.
            routed = get(client, path.replace("/v1/", "/v1//"))
            first, second = get(client, path), get(client, path)
            assert first.status_code == second.status_code == routed.status_code
            if first.status_code == 200:
                assert first.content == second.content == routed.content


@over_files
def test_list_is_remembered_until_its_kind_is_written(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.schema()
    client.table("t1")
    first = [get(client, "/v1/tables?limit=3").content for _ in range(3)][-1]
    with monkeypatch.context() as patched:
        patched.delattr("api.routes.entities.reads.small_page")
        client.create("users", name="ann", email="ann@example.org")
        assert get(client, "/v1/tables?limit=3").content == first
    client.table("t2")

    names = [each["name"] for each in get(client, "/v1/tables?limit=3").json()["data"]]
    assert names == ["t1", "t2"]


@over_files
def test_list_narrowed_by_a_name_is_not_remembered_once_the_name_means_another(
    client: Client,
) -> None:
    client.schema()
    table, team = client.table("t1"), client.create("teams", name="ann", teamType="Group")
    owners = [{"id": team["id"], "type": "team"}]
    patch = [{"op": "add", "path": "/owners", "value": owners}]
    client.request("PATCH", f"/v1/tables/{table['id']}", json=patch)
    of_ann = "/v1/tables?limit=3&owner=ann"
    totals = [get(client, of_ann).json()["paging"]["total"] for _ in range(3)]

    # An owner is sought among users first.
    client.create("users", name="ann", email="ann@example.org")

    assert totals == [1, 1, 1]
    assert get(client, of_ann).json()["paging"]["total"] == 0


def test_changed_policies_count_for_remembered_answers(tmp_path: Path) -> None:
    file = tmp_path / "policies.toml"
    file.write_text(POLICIES.format(more=""))
    with running(tmp_path, policies=str(file)) as client:
        client.schema()
        client.table(description="secret")
        before = [get(client, "/v1/tables").text for _ in range(3)]
        file.write_text(POLICIES.format(more='withhold = ["description"]'))
        after = get(client, "/v1/tables").text

    assert ["secret" in text for text in (*before, after)] == [True, True, True, False]


def test_callers_with_other_rights_do_not_share_answers(tmp_path: Path) -> None:
    reader = '[[rule]]\nrole = "reader"\nallow = ["list"]\nwithhold = ["description"]\n'
    with running_under(tmp_path, POLICIES.format(more=reader)) as client:
        client.schema()
        client.table(description="secret")
        texts = [get(client, "/v1/tables", role).text for role in ("admin", "reader") * 3]

    assert ["secret" in text for text in texts] == [True, False] * 3


@over_files
def test_search_is_remembered_until_something_is_written(client: Client) -> None:
    client.schema()
    client.table("orders")
    client.search_until(lambda answer: answer["hits"]["total"]["value"] == 1, q="orders")
    path = "/v1/search/query?q=orders"
    get(client, path)
    app: Any = client.http.app
    headers = [(b"host", b"x"), (b"authorization", f"Bearer {TOKENS['admin']}".encode())]

    def direct() -> Any:
        scope = {
            "method": "GET",
            "path": "/v1/search/query",
            "raw_path": b"/v1/search/query",
            "query_string": b"q=orders",
            "headers": headers,
            "state": {},
        }
        return app.edge.answer(scope)

    assert direct()[0].body == get(client, path).content
    client.table("orders_2")
    client.search_until(lambda answer: answer["hits"]["total"]["value"] == 2, q="orders*")
    assert direct() is None
    assert get(client, path).json()["hits"]["total"]["value"] == 2


def test_search_that_ran_out_of_time_is_not_remembered(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.schema()
    client.table("orders")
    client.search_until(lambda answer: answer["hits"]["total"]["value"] == 1, q="orders")
    cut = SearchAnswer(b'{"timed_out":true}', complete=False)
    with monkeypatch.context() as patched:
        patched.setattr("api.routes.search.searches.search", lambda *_: cut)
        assert get(client, "/v1/search/query?q=orders*").json() == {"timed_out": True}

    assert get(client, "/v1/search/query?q=orders*").json()["timed_out"] is False
