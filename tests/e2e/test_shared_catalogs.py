"""The two real catalogs, imported by the command, listed and searched over HTTP."""

import gzip
import json
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from domain.kinds.registry import KINDS
from tests.depth import first_alone
from tests.e2e.conftest import (
    NO_AUTHORITIES,
    SHARED,
    Server,
    catalog,
    needs_shared_catalogs,
    serving,
)
from tests.waiting import until

pytestmark = [needs_shared_catalogs, pytest.mark.xdist_group("shared")]

FILES = {"ecommerce": "ecommerce.jsonl", "mozilla": "mozilla.jsonl.gz"}
COUNTS = {"ecommerce": 267, "mozilla": 4_307}


def read(name: str) -> list[dict[str, Any]]:
    data = (SHARED / FILES[name]).read_bytes()
    text = gzip.decompress(data) if FILES[name].endswith(".gz") else data
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="module", params=first_alone(*FILES))
def loaded(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Server, list[dict[str, Any]]]]:
    """A server with one of the catalogs, and the catalog's lines."""
    name = request.param
    directory: Path = tmp_path_factory.mktemp(name)
    file = str(SHARED / FILES[name])
    first = catalog("import", file, "--data", str(directory))
    again = catalog("import", file, "--data", str(directory))
    count = COUNTS[name]
    assert first.stdout.startswith(f"{count} lines: {count} created, 0 changed, 0 unchanged, 0 bad")
    assert again.stdout.startswith(f"{count} lines: 0 created, 0 changed, {count} unchanged, 0 bad")
    with serving(directory) as server:
        yield server, read(name)


def test_totals_of_every_kind_equal_a_count_over_the_file(
    loaded: tuple[Server, list[dict[str, Any]]],
) -> None:
    server, lines = loaded
    counted = Counter(line["entityType"] for line in lines)
    held = {(line["entityType"], line["name"]) for line in lines}
    # A catalog has these from its start, unless others of their names are in it.
    for name, tags in (("Tier", 5), ("PII", 3)):
        if ("classification", name) not in held:
            counted.update(classification=1, tag=tags)
    counted.update(testDefinition=24)
    totals = {
        name: server.get(f"/v1/{kind.collection}", limit=0)["paging"]["total"]
        for name, kind in KINDS.items()
    }

    assert {name: total for name, total in totals.items() if total} == dict(counted)


def test_contract_totals_by_status_equal_a_count_over_the_file(
    loaded: tuple[Server, list[dict[str, Any]]],
) -> None:
    server, lines = loaded
    counted = Counter(line.get("entityStatus") for line in lines if "entity" in line)

    for status in ("Draft", "Active", "Deprecated"):
        total = server.get("/v1/dataContracts", limit=0, status=status)["paging"]["total"]
        assert total == counted[status]


def test_tables_by_schema_equal_a_count_over_the_file(
    loaded: tuple[Server, list[dict[str, Any]]],
) -> None:
    server, lines = loaded
    tables = [line for line in lines if line["entityType"] == "table"]
    for key in ("service", "database", "databaseSchema"):
        counted = Counter(table[key]["fullyQualifiedName"] for table in tables)
        for fqn, count in counted.most_common(5):
            answer = server.get("/v1/tables", limit=0, **{key: fqn})
            assert answer["paging"]["total"] == count


def test_every_entity_is_found_by_its_name(loaded: tuple[Server, list[dict[str, Any]]]) -> None:
    server, lines = loaded
    for line in lines:
        kind = KINDS[line["entityType"]]
        fqn = line["fullyQualifiedName"]
        found = server.get(f"/v1/{kind.collection}/name/{quote(fqn, safe='')}")
        assert (found["name"], found["fullyQualifiedName"]) == (line["name"], fqn)


def test_every_entity_is_found_by_a_search_for_its_name(
    loaded: tuple[Server, list[dict[str, Any]]],
) -> None:
    server, lines = loaded
    every = 1 if len(lines) < 1_000 else 10
    for line in lines[::every]:
        index = KINDS[line["entityType"]].index
        text = '"' + line["name"].replace("\\", "\\\\").replace('"', '\\"') + '"'
        for q in (f"name.keyword:{text}", text):
            answer = server.get("/v1/search/query", q=q, index=index, size=100)
            found = [hit["_source"]["fullyQualifiedName"] for hit in answer["hits"]["hits"]]
            assert line["fullyQualifiedName"] in found, q


def test_walk_sees_each_contract_once_while_others_change(
    loaded: tuple[Server, list[dict[str, Any]]],
) -> None:
    server, lines = loaded
    steady = sorted(
        (line["name"], line["fullyQualifiedName"])
        for line in lines
        if line["entityType"] == "dataContract"
    )
    taken = {line["entity"]["fullyQualifiedName"] for line in lines if "entity" in line}
    free = (line["fullyQualifiedName"] for line in lines if line["entityType"] == "table")
    table = {"type": "table", "fullyQualifiedName": next(fqn for fqn in free if fqn not in taken)}
    stop = threading.Event()
    changes = Counter[str]()

    def disturb() -> None:
        """Create, change and delete contracts, one after the other, with names between the rest."""
        with httpx.Client(
            base_url=server.http.base_url, headers=server.http.headers, verify=NO_AUTHORITIES
        ) as http:
            number = 0
            while not stop.is_set():
                name = f"{steady[number * 7 % len(steady)][0]}-passing-{number}"
                body = {"name": name, "entity": table}
                made = http.post("/v1/dataContracts", json=body).json()
                patch = [{"op": "add", "path": "/description", "value": "passing"}]
                http.patch(f"/v1/dataContracts/{made['id']}", json=patch)
                hard = "true" if number % 3 else "false"
                http.delete(f"/v1/dataContracts/{made['id']}?hardDelete={hard}")
                changes["made"] += 1
                number += 1

    disturber = threading.Thread(target=disturb)
    disturber.start()
    try:
        until(lambda: changes["made"] >= 3)
        forward = list(walk(server, "after", server.get("/v1/dataContracts", limit=7)))
        backward = list(walk(server, "before", forward[-1]))
    finally:
        stop.set()
        disturber.join()

    known = set(steady)
    there = [key for answer in forward for key in keys(answer)]
    back = [key for answer in reversed(backward) for key in keys(answer)]
    assert sorted(key for key in there if key in known) == steady
    assert [key for key in back if key in known] == [key for key in there if key in known]
    assert [name for name, _ in there] == sorted(name for name, _ in there)
    assert len(there) == len(set(there))
    assert len(back) == len(set(back))


def keys(answer: Any) -> list[tuple[str, str]]:
    return [(item["name"], item["fullyQualifiedName"]) for item in answer["data"]]


def walk(server: Server, direction: str, answer: Any) -> Iterator[Any]:
    """An answer and all that follow it in a direction."""
    yield answer
    while cursor := answer["paging"].get(direction):
        answer = server.get("/v1/dataContracts", limit=7, **{direction: cursor})
        yield answer
