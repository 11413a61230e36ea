"""The log for auditors: order, filters, resuming, NDJSON, permission."""

import json
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from api.routes.system import audit
from api.routes.system.audit import Order, audit_lines, audit_page, audit_span
from domain.kinds.ids import new_id
from domain.kinds.registry import ALL_KINDS
from domain.reading.audit import AuditEvent, AuditQuery, AuditTrail, LogSpan
from tests.api.conftest import Client, RunFilled

PATH = "/v1/audit/events"


def lines(client: Client, **params: Any) -> list[Any]:
    """The lines of the NDJSON answer."""
    headers = {"Accept": "application/x-ndjson"}
    response = client.request("GET", PATH, params=params, headers=headers)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"].startswith("application/x-ndjson")
    return [json.loads(line) for line in response.text.splitlines()]


def fill(client: Client) -> None:
    client.schema()
    orders = client.table()
    path = f"/v1/tables/{orders['id']}"
    patch = [{"op": "add", "path": "/description", "value": "all"}]
    headers = {"X-Request-Id": "the-patch"}
    client.request("PATCH", path, json=patch, role="editor", headers=headers)
    entity = {"id": orders["id"], "type": "table"}
    contract = client.create("dataContracts", name="c", entity=entity)
    status = [{"op": "replace", "path": "/entityStatus", "value": "Active"}]
    client.request("PATCH", f"/v1/dataContracts/{contract['id']}", json=status)
    client.request("DELETE", path, params={"recursive": True, "hardDelete": True})


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory, run_filled: RunFilled) -> Iterator[Client]:
    """A catalog with a few events, for tests that write nothing."""
    with run_filled(tmp_path_factory.mktemp("audit"), fill) as client:
        yield client


@pytest.fixture
def own(tmp_path: Path, run_filled: RunFilled) -> Iterator[Client]:
    """Such a catalog for one test."""
    with run_filled(tmp_path, fill) as client:
        yield client


def test_events_come_in_log_order_with_who_what_and_when(filled: Client) -> None:
    answer = filled.get(PATH)

    assert answer["paging"] == {"after": 9, "head": 9}
    assert [(e["position"], e["eventType"], e["kind"]) for e in answer["data"]] == [
        (1, "entity.created", "databaseService"),
        (2, "entity.created", "database"),
        (3, "entity.created", "databaseSchema"),
        (4, "entity.created", "table"),
        (5, "entity.changed", "table"),
        (6, "entity.created", "dataContract"),
        (7, "entity.status-changed", "dataContract"),
        (8, "entity.purged", "dataContract"),
        (9, "entity.purged", "table"),
    ]
    created, changed, status, purged = (answer["data"][at] for at in (3, 4, 6, 8))
    assert created["body"]["columns"][0]["name"] == "id"
    table = {"kind": "table", "fullyQualifiedName": "service.database.schema.orders"}
    assert changed == {
        **table,
        "position": 5,
        "entityId": created["entityId"],
        "eventType": "entity.changed",
        "streamVersion": 2,
        "version": 0.2,
        "actor": "the-editor",
        "time": changed["time"],
        "requestId": "the-patch",
        "patch": [{"op": "add", "path": "/description", "value": "all"}],
    }
    assert changed["time"] >= created["time"] > 1_700_000_000_000
    assert status["status"] == "Active"
    assert purged.items() >= table.items()


def test_pages_go_on_where_the_last_one_ended(own: Client) -> None:
    seen, after, pages = [], 0, 0
    while True:
        answer = own.get(PATH, after=after, limit=2)
        seen += [event["position"] for event in answer["data"]]
        after, pages = answer["paging"]["after"], pages + 1
        if after == answer["paging"]["head"]:
            break

    assert (seen, pages) == ([1, 2, 3, 4, 5, 6, 7, 8, 9], 5)
    own.create("services/databaseServices", name="new", serviceType="Mysql")
    fresh = own.get(PATH, after=after)
    assert [event["position"] for event in fresh["data"]] == [10]
    assert fresh["paging"] == {"after": 10, "head": 10}


def positions(client: Client, **params: Any) -> list[int]:
    return [event["position"] for event in client.get(PATH, **params)["data"]]


def test_filters_select(filled: Client) -> None:
    times = [event["time"] for event in filled.get(PATH)["data"]]

    assert positions(filled, kind="table") == [4, 5, 9]
    assert positions(filled, actor="the-editor") == [5]
    assert positions(filled, actor="the-editor", kind="dataContract") == []
    assert positions(filled, actor="THE-EDITOR") == []
    assert positions(filled, since=times[-1] + 1) == []
    assert positions(filled, since=times[0], until=times[-1] + 1) == list(range(1, 10))
    assert positions(filled, until="2020-01-31") == []
    assert positions(filled, since="2020-01-31T12:00:00+02:00") == list(range(1, 10))


@pytest.mark.parametrize(
    "text",
    ["2020", "2020-02", "2020-01-31 10:30", "2020-01-31T10:30:00,000001+01", "-1", "1577836800000"],
)
def test_audit_reads_times_as_searches_do(filled: Client, text: str) -> None:
    search = f"/v1/search/query?q=updatedAt:>%22{quote(text)}%22"
    assert filled.ask("GET", search)[0] == 200

    assert positions(filled, since=text) == list(range(1, 10))
    assert positions(filled, until=text) == []


def walk(client: Client, **params: Any) -> list[list[int]]:
    """The positions on each page, following `paging` until there is no more."""
    pages: list[list[int]] = []
    while True:
        answer = client.get(PATH, **params)
        pages.append([event["position"] for event in answer["data"]])
        paging = answer["paging"]
        if paging.get("after") == paging["head"] or paging.get("before") == 1:
            return pages
        params |= {name: paging[name] for name in ("after", "before") if name in paging}


def test_newest_come_first_when_asked_for(own: Client) -> None:
    answer = own.get(PATH, order="desc", limit=2)

    assert answer["data"] == own.get(PATH)["data"][:-3:-1]
    assert answer["paging"] == {"before": 8, "head": 9}
    assert walk(own, order="desc", limit=2) == [[9, 8], [7, 6], [5, 4], [3, 2], [1]]
    assert walk(own, order="desc", limit=3) == [[9, 8, 7], [6, 5, 4], [3, 2, 1]]
    own.create("services/databaseServices", name="new", serviceType="Mysql")
    assert positions(own, order="desc", before=8, limit=2) == [7, 6]


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("batch", [1, 4, 1_000])
def test_filters_select_alike_in_both_orders_on_pages_of_any_size(
    filled: Client, monkeypatch: pytest.MonkeyPatch, order: str, batch: int
) -> None:
    events = filled.get(PATH)["data"]
    table, contract = events[3]["entityId"], events[5]["entityId"]
    fqn = "service.database.schema.orders"
    given: list[tuple[dict[str, Any], list[int]]] = [
        ({}, [1, 2, 3, 4, 5, 6, 7, 8, 9]),
        ({"entity": table}, [4, 5, 9]),
        ({"entity": contract}, [6, 7, 8]),
        ({"entity": contract, "kind": "table"}, []),
        ({"entity": new_id()}, []),
        ({"fqn": fqn}, [4, 5, 9]),
        ({"fqn": events[5]["fullyQualifiedName"], "kind": "dataContract"}, [6, 7, 8]),
        ({"fqn": fqn, "eventType": "entity.purged"}, [9]),
        ({"fqn": "service"}, [1]),
        ({"eventType": "entity.purged"}, [8, 9]),
        ({"eventType": "entity.changed", "actor": "the-admin"}, []),
        ({"requestId": "the-patch"}, [5]),
        ({"requestId": events[8]["requestId"]}, [8, 9]),
        ({"entity": table, "requestId": events[8]["requestId"]}, [9]),
    ]
    read_in_batches(filled, monkeypatch, batch)

    for limit in (1, 2, 100):
        for params, expected in given:
            found = walk(filled, order=order, limit=limit, **params)
            assert max(map(len, found)) <= limit
            in_order = expected if order == "asc" else expected[::-1]
            assert [position for page in found for position in page] == in_order, params


def read_in_batches(client: Client, monkeypatch: pytest.MonkeyPatch, batch: int) -> None:
    """Have the log give so many events at a time."""
    log = client.services.stores.log
    read = log.read

    def in_batches(after: int, limit: int, *upto: int, **options: bool) -> Any:
        return read(after, min(limit, batch), *upto, **options)

    monkeypatch.setattr(log, "read", in_batches)


class Bounded(AuditTrail):
    """A reader of the log that looks at four events of a page at most."""

    def read(
        self, query: AuditQuery, span: LogSpan, *, limit: int, bound: int
    ) -> Iterator[tuple[list[AuditEvent], int]]:
        return super().read(query, span, limit=limit, bound=min(bound, 4))


def bounded(client: Client, order: Order = "asc", after: int | None = None, **asked: str) -> Any:
    """A page of a caller who may audit everything, made by such a reader.

    The same as NDJSON has the same events and ends at the same place.
    """
    log = client.services.stores.log
    span = audit_span(after, None, order, log.head())
    query = AuditQuery(kinds=frozenset(ALL_KINDS), **asked)
    asked_for = (Bounded(log), query, span, log.head(), 100)
    page = json.loads(audit_page(*asked_for))
    streamed = b"".join(audit_lines(*asked_for)).splitlines()
    assert [json.loads(line) for line in streamed] == [*page["data"], {"paging": page["paging"]}]
    return page


def test_events_of_one_entity_are_found_without_looking_at_others(filled: Client) -> None:
    table = filled.get(PATH)["data"][3]["entityId"]
    orders: tuple[tuple[Order, Any], ...] = (("asc", {"after": 9}), ("desc", {"before": 1}))
    for order, whole in orders:
        answer = bounded(filled, order, entity_id=table)
        assert (len(answer["data"]), answer["paging"]) == (3, {**whole, "head": 9})


def in_order(order: str, positions: Iterable[int]) -> list[int]:
    return list(positions)[:: 1 if order == "asc" else -1]


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_page_ends_when_its_time_is_used_up(
    filled: Client, monkeypatch: pytest.MonkeyPatch, order: str
) -> None:
    read_in_batches(filled, monkeypatch, 4)
    monkeypatch.setattr(audit, "PAGE_SECONDS", 0)

    pages = walk(filled, order=order)

    assert [*chain(*pages)] == in_order(order, range(1, 10))
    assert [len(page) for page in pages if page] == [4, 4, 1]


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_page_ends_when_its_bytes_are_used_up(own: Client, order: str) -> None:
    for number in range(5):
        text = "x" * (audit.PAGE_BYTES // 2)
        own.create("domains", name=f"d{number}", domainType="Aggregate", description=text)

    pages = walk(own, order=order)

    assert [*chain(*pages)] == in_order(order, range(1, 15))
    assert [len(page) for page in pages] == ([11, 2, 1] if order == "asc" else [2, 2, 10])


def test_page_that_finds_little_says_how_far_it_looked(filled: Client) -> None:
    first = bounded(filled, actor="the-editor")
    second = bounded(filled, actor="the-editor", after=4)

    assert (first["data"], first["paging"]) == ([], {"after": 4, "head": 9})
    assert ([e["position"] for e in second["data"]], second["paging"]["after"]) == ([5], 8)


def test_ndjson_has_the_same_events_and_says_where_it_ends(filled: Client) -> None:
    *events, last = lines(filled)

    assert events == filled.get(PATH)["data"]
    assert last == {"paging": {"after": 9, "head": 9}}
    assert [e.get("position") for e in lines(filled, limit=2, after=3)] == [4, 5, None]
    *newest, last = lines(filled, order="desc")
    assert (newest, last) == (events[::-1], {"paging": {"before": 1, "head": 9}})
    assert [e.get("position") for e in lines(filled, order="desc", before=3)] == [2, 1, None]
    assert lines(filled, actor="nobody") == [{"paging": {"after": 9, "head": 9}}]


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"kind": "king"}, "kind must be one of "),
        ({"after": "x"}, "after must be a whole number, got 'x'"),
        ({"after": -1}, "after must be a whole number >= 0, got '-1'"),
        ({"after": 1}, "after must be at most 0, the head of the log, got '1'"),
        ({"limit": 0}, "limit must be a whole number >= 1, got '0'"),
        ({"limit": 1001}, "limit must be 1 to 1000, got '1001'"),
        ({"limit": 1_000_001}, "limit must be a whole number <= 1000000, got '1000001'"),
        ({"since": "yesterday"}, "since must be an ISO 8601 date or time"),
        ({"since": "2026-W05"}, "since must be an ISO 8601 date or time"),
        ({"since": ""}, "since must be an ISO 8601 date or time"),
        ({"until": "2026-13-01"}, "until must be an ISO 8601 date or time"),
        ({"order": "newest"}, "order must be one of asc, desc"),
        ({"before": 0, "order": "desc"}, "before must be a whole number >= 1, got '0'"),
        ({"before": 2, "order": "desc"}, "before must be at most 1, one beyond the head of"),
        ({"before": 1}, "before goes with order=desc; in log order, go on with after"),
        ({"after": 0, "order": "desc"}, "after goes with order=asc; newest first, go on with"),
        ({"entity": "12"}, "entity: "),
        ({"eventType": "entity.eaten"}, "eventType must be one of entity."),
    ],
)
def test_wrong_parameter_is_named(empty: Client, params: dict[str, Any], said: str) -> None:
    status, body = empty.ask("GET", PATH, params=params)

    assert (status, body["errorType"]) == (400, "BAD_REQUEST")
    assert body["message"].startswith(said)


@pytest.mark.parametrize("role", ["reader", "editor"])
def test_permission_is_of_its_own(empty: Client, role: str) -> None:
    status, body = empty.ask("GET", PATH, role=role, params={"after": "x"})

    assert (status, body["message"]) == (403, f"'the-{role}' has no permission to audit")


def test_empty_log_is_an_empty_page(empty: Client) -> None:
    assert empty.get(PATH) == {"data": [], "paging": {"after": 0, "head": 0}}
    assert lines(empty) == [{"paging": {"after": 0, "head": 0}}]


def test_versions_say_what_they_changed(own: Client) -> None:
    client = own
    service = client.create("services/databaseServices", name="s", serviceType="Mysql")
    path = f"/v1/services/databaseServices/{service['id']}"
    client.request("PATCH", path, json=[{"op": "add", "path": "/description", "value": "x"}])
    change = {
        "fieldsAdded": [{"name": "description", "newValue": "x"}],
        "fieldsUpdated": [],
        "fieldsDeleted": [],
        "previousVersion": 0.1,
    }

    listed = [json.loads(version) for version in client.get(f"{path}/versions")["versions"]]

    assert [version.get("changeDescription") for version in listed] == [change, None]
    assert [client.get(f"{path}/versions/{v}") for v in ("0.2", "0.1")] == listed
    assert "changeDescription" not in client.get(path)
