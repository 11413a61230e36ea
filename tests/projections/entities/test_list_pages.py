"""Pages of the sorted read model: order, filters, totals, fields and cursors."""

import json
import tracemalloc
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from msgspec.structs import replace

from domain.errors import InvalidInput, NotFound
from domain.kinds.ids import new_id
from domain.kinds.registry import KINDS
from projections.entities.list_pages import list_page, small_page
from projections.entities.list_port import Include, ListRequest
from projections.entities.name_filters import name_filter
from projections.entities.port import EntityTooLarge
from projections.entities.single_entities import read_one
from tests.depth import first_alone
from tests.projections.conftest import Fixture
from tests.projections.read_models import ME

BOUNDS = {"most_rows", "most_bytes", "chunk_bytes"}
WIDE = {"name": "c", "dataType": "INT", "description": "y" * 100_000}
TABLE = {"databaseSchema": "service.database.schema", "columns": []}


def begun(fixture: Fixture, kind: str, limit: int, **options: Any) -> Generator[bytes]:
    """The chunks of a page; `options` are those of the request and the bounds of `list_page`."""
    bounds = {name: options.pop(name) for name in BOUNDS & options.keys()}
    request = ListRequest(kind=KINDS[kind], limit=limit, **options)
    return list_page(fixture.entities, request, **bounds)


def page(fixture: Fixture, kind: str, limit: int = 10, **options: Any) -> dict[str, Any]:
    """A page that does not take long."""
    (whole,) = begun(fixture, kind, limit, **options)
    result: dict[str, Any] = json.loads(whole)
    return result


def streamed(
    fixture: Fixture, kind: str, limit: int = 10, *, whole_up_to: int = -1, **options: Any
) -> dict[str, Any]:
    """A page that takes long, made by two threads in turn; one that is small may come whole."""
    chunks = begun(fixture, kind, limit, **options)
    if whole := next(chunks):
        assert limit <= whole_up_to
        page: dict[str, Any] = json.loads(whole)
        return page
    with ThreadPoolExecutor(1) as thread:
        first = thread.submit(next, chunks).result()
        rest = thread.submit(b"".join, chunks).result()
    result: dict[str, Any] = json.loads(first + rest)
    return result


def takes_long(fixture: Fixture, kind: str, limit: int, **options: Any) -> bool:
    """True if a page takes long; both are closed before their end."""
    chunks = begun(fixture, kind, limit, **options)
    long = next(chunks) == b""
    chunks.close()
    return long


def names(answer: dict[str, Any]) -> list[str]:
    return [item["name"] for item in answer["data"]]


@pytest.fixture
def tables(catalog: Fixture) -> Fixture:
    """Tables a to e."""
    catalog.schema()
    for name in "caebd":
        catalog.table(name)
    catalog.project()
    return catalog


def test_list_is_in_code_point_order_of_names(catalog: Fixture) -> None:
    catalog.schema()
    given = ["b", "B", "a", "é", "e\u0301", "Я", "10", "9", "a.b", 'q"q', "\U0001f600", "\uffee"]
    for name in given:
        catalog.table(name)
    catalog.project()

    assert names(page(catalog, "table", 100)) == sorted(given)


def test_list_pages_forward_then_backward_give_the_same(tables: Fixture) -> None:
    first = page(tables, "table", 2)
    second = page(tables, "table", 2, after=first["paging"]["after"])
    third = page(tables, "table", 2, after=second["paging"]["after"])
    back = page(tables, "table", 2, before=third["paging"]["before"])
    start = page(tables, "table", 2, before=back["paging"]["before"])

    assert [names(p) for p in (first, second, third)] == [["a", "b"], ["c", "d"], ["e"]]
    assert (names(back), names(start)) == (["c", "d"], ["a", "b"])
    assert sorted(first["paging"]) == ["after", "total"]
    assert sorted(third["paging"]) == ["before", "total"]
    assert sorted(start["paging"]) == ["after", "total"]


def test_list_of_exactly_the_limit_has_no_cursor(tables: Fixture) -> None:
    assert page(tables, "table", 5)["paging"] == {"total": 5}


def test_list_with_limit_zero_gives_only_the_total(tables: Fixture) -> None:
    assert page(tables, "table", 0) == {"data": [], "paging": {"total": 5}}


def test_list_page_emptied_by_deletes_leads_back(tables: Fixture) -> None:
    cursor = page(tables, "table", 3)["paging"]["after"]
    schema = tables.log.claim("databaseSchema", "service.database.schema")
    assert schema is not None
    for claim in tables.log.claims(parents=[schema.id]):
        if claim.name in "de":
            tables.catalog.delete(KINDS["table"], claim.id, ME, hard=True, recursive=False)
    tables.project()

    empty = page(tables, "table", 3, after=cursor)
    back = page(tables, "table", 3, before=empty["paging"]["before"])

    assert (empty["data"], empty["paging"]["total"]) == ([], 3)
    assert names(back) == ["a", "b", "c"]


def test_list_refuses_both_cursors(tables: Fixture) -> None:
    cursor = page(tables, "table", 2)["paging"]["after"]

    with pytest.raises(InvalidInput, match="only one of before and after"):
        page(tables, "table", 2, after=cursor, before=cursor)


def test_list_refuses_a_cursor_of_another_filter(tables: Fixture) -> None:
    cursor = page(tables, "table", 2)["paging"]["after"]

    with pytest.raises(InvalidInput, match="not a cursor of this list"):
        page(tables, "table", 2, after=cursor, include=Include.ALL)


def test_list_include_selects_by_deletion_state(tables: Fixture) -> None:
    tables.delete(tables.table("bb"))
    tables.delete(tables.table("gone"), hard=True)
    tables.project()

    assert names(page(tables, "table", include=Include.DELETED)) == ["bb"]
    assert names(page(tables, "table", include=Include.ALL)) == ["a", "b", "bb", "c", "d", "e"]
    assert names(page(tables, "table")) == ["a", "b", "c", "d", "e"]
    assert page(tables, "table", 3, include=Include.ALL)["paging"]["total"] == 6


def test_list_include_all_walks_both_ways(tables: Fixture) -> None:
    tables.delete(tables.table("bb"))
    tables.project()
    first = page(tables, "table", 3, include=Include.ALL)
    second = page(tables, "table", 3, include=Include.ALL, after=first["paging"]["after"])
    back = page(tables, "table", 3, include=Include.ALL, before=second["paging"]["before"])

    assert names(first) + names(second) == ["a", "b", "bb", "c", "d", "e"]
    assert names(back) == names(first)


def test_list_filters_contracts_by_status_and_entity(catalog: Fixture) -> None:
    catalog.schema()
    one, two = catalog.table("one"), catalog.table("two")
    catalog.delete(catalog.contract("c1", one, "Active"))
    catalog.contract("c2", one, "Draft")
    catalog.contract("c3", two, "Active")
    catalog.project()
    both = {"filters": {"entity": one.entity.id}, "include": Include.ALL}

    assert names(page(catalog, "dataContract", status="Active", include=Include.ALL)) == [
        "c1",
        "c3",
    ]
    assert names(page(catalog, "dataContract", **both)) == ["c1", "c2"]
    assert names(page(catalog, "dataContract", **both, status="Active")) == ["c1"]
    assert page(catalog, "dataContract", 1, **both)["paging"]["total"] == 2
    assert page(catalog, "dataContract", filters={"entity": new_id()})["paging"] == {"total": 0}


def test_list_filters_tables_by_each_ancestor(tables: Fixture) -> None:
    tables.create("databaseSchema", "other", database="service.database")
    tables.table("f", "service.database.other")
    tables.project()
    schema = {"databaseSchema": "service.database.other"}

    assert names(page(tables, "table", filters=schema)) == ["f"]
    assert page(tables, "table", 0, filters={"service": "service"})["paging"]["total"] == 6
    assert names(page(tables, "table", filters={**schema, "service": "service"})) == ["f"]
    assert (
        page(tables, "table", 0, filters={**schema, "service": "service"})["paging"]["total"] == 1
    )
    assert names(page(tables, "table", filters={"database": "nowhere"})) == []


def test_list_shows_optional_fields_only_when_asked(tables: Fixture) -> None:
    plain = page(tables, "table", 1)["data"][0]
    asked = page(tables, "table", 1, fields=("columns", "owners"))["data"][0]

    assert "columns" not in plain
    assert asked == {
        **plain,
        "owners": [],
        "columns": [
            {
                "name": "id",
                "dataType": "INT",
                "fullyQualifiedName": "service.database.schema.a.id",
                "tags": [],
            }
        ],
    }


def test_list_follows_a_changed_status(catalog: Fixture) -> None:
    catalog.schema()
    contract = catalog.contract("c", catalog.table("t"))
    patch = [{"op": "replace", "path": "/entityStatus", "value": "Active"}]
    catalog.catalog.patch(KINDS["dataContract"], contract.entity.id, patch, ME)
    catalog.project()

    assert page(catalog, "dataContract", 0, status="Draft")["paging"]["total"] == 0
    assert [item["version"] for item in page(catalog, "dataContract", status="Active")["data"]] == [
        0.2
    ]


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize(
    "narrowed",
    [
        {},
        {"include": Include.ALL},
        {"filters": {"databaseSchema": "service.database.schema"}},
        {"filters": {"service": "service", "database": "service.database"}},
    ],
)
@pytest.mark.parametrize("chunk_bytes", first_alone(1, 1_000_000))
@pytest.mark.parametrize(
    # From the beginning, after one row, after two, and where the first is too large to be read.
    # The row after a page needs not be read.
    ("bound", "whole_up_to"),
    [
        (("most_rows", -1), -1),
        (("most_bytes", 450), 1),
        (("most_bytes", 700), 2),
        (("most_bytes", 300), -1),
    ],
)
def test_list_streamed_equals_list_in_memory(
    tables: Fixture,
    narrowed: dict[str, Any],
    backward: bool,
    chunk_bytes: int,
    bound: tuple[str, int],
    whole_up_to: int,
) -> None:
    cursor = page(tables, "table", 3, **narrowed)["paging"]["after"]
    options = {**narrowed, "after": cursor}
    if backward:
        before = page(tables, "table", 3, **options)["paging"]["before"]
        options = {**narrowed, "before": before}
    for limit in (0, 1, 2, 3, 4):
        expected = page(tables, "table", limit, fields=("columns",), **options)
        if limit or bound == ("most_rows", -1):
            wanted = {"fields": ("columns",), "whole_up_to": whole_up_to, **options}
            bounds = {"chunk_bytes": chunk_bytes, **dict([bound])}
            assert streamed(tables, "table", limit, **wanted, **bounds) == expected


def test_list_streamed_leads_back_from_an_emptied_page(tables: Fixture) -> None:
    last = page(tables, "table", 4)["paging"]["after"]
    first = page(tables, "table", 1, after=last)["paging"]["before"]
    for name in "abcde":
        tables.delete(tables.create("table", f"{name}{name}", **TABLE))
        claim = tables.log.claim("table", f"service.database.schema.{name}")
        assert claim is not None
        tables.catalog.delete(KINDS["table"], claim.id, ME, hard=True, recursive=False)
    tables.project()

    for options in ({"after": last}, {"before": first}):
        expected = page(tables, "table", 3, **options)
        assert streamed(tables, "table", 3, most_rows=-1, **options) == expected


def test_list_that_takes_long_is_left_to_the_stream(tables: Fixture) -> None:
    several = {"database": "service.database", "databaseSchema": "service.database.schema"}

    assert takes_long(tables, "table", 5, most_rows=4)
    for limit in (0, 1):
        assert takes_long(tables, "table", limit, filters=several, most_rows=4)
        one = {"filters": {"database": "service.database"}}
        assert page(tables, "table", limit, most_rows=4, **one)
    assert names(page(tables, "table", 1, filters=several, most_rows=5)) == ["a"]


def test_list_with_status_in_a_scope_counts_what_it_passes_over(catalog: Fixture) -> None:
    catalog.schema()
    table = catalog.table("t")
    for name in "abc":
        catalog.delete(catalog.contract(name, table, "Draft"))
    catalog.project()
    deleted = {"include": Include.DELETED, "most_rows": 2}
    scope = {"filters": {"entity": table.entity.id}, **deleted}

    assert takes_long(catalog, "dataContract", 1, **scope, status="Active")
    assert names(page(catalog, "dataContract", 1, **scope)) == ["a"]
    assert names(page(catalog, "dataContract", 1, status="Draft", **deleted)) == ["a"]


@pytest.mark.parametrize(("limit", "long"), [(1, False), (2, False), (3, True), (19, True)])
@pytest.mark.parametrize("backward", [False, True])
def test_list_of_large_items_is_left_to_the_stream(
    catalog: Fixture, limit: int, long: bool, backward: bool
) -> None:
    catalog.schema()
    for number in range(20):
        catalog.table(f"t{number:02}", description="x" * 100_000)
    catalog.project()
    before = None
    if backward:
        skipped = streamed(catalog, "table", 19)["paging"]["after"]
        before = page(catalog, "table", 1, after=skipped)["paging"]["before"]

    chunks = [
        *list_page(catalog.entities, ListRequest(kind=KINDS["table"], limit=limit, before=before))
    ]

    expected = [f"t{number:02}" for number in range(20)]
    expected = expected[:19][-limit:] if backward else expected[:limit]
    assert names(json.loads(b"".join(chunks))) == expected
    assert (chunks[0] == b"") == long
    assert max(map(len, chunks)) < 256 * 1024 + 110_000
    assert takes_long(catalog, "table", 4, cut=bytes)


def test_read_one_gives_large_fields_and_those_asked_for(tables: Fixture) -> None:
    plain = read_one(tables.entities, KINDS["table"], fqn="service.database.schema.a")
    asked = read_one(
        tables.entities, KINDS["table"], fqn="service.database.schema.a", fields=("tags",)
    )

    body = json.loads(plain.body)
    assert "tags" not in body
    assert json.loads(asked.body)["tags"] == []
    assert [column["name"] for column in body["columns"]] == ["id"]
    assert plain.version == "0.1"


def test_read_one_refuses_an_entity_above_a_size(catalog: Fixture) -> None:
    catalog.schema()
    catalog.table("large", description="x" * 1_000)
    catalog.project()
    table, fqn = KINDS["table"], "service.database.schema.large"

    for _ in range(2):
        with pytest.raises(EntityTooLarge):
            read_one(catalog.entities, table, fqn=fqn, most_bytes=1_000)
        assert read_one(catalog.entities, table, fqn=fqn, most_bytes=10_000) == read_one(
            catalog.entities, table, fqn=fqn
        )
    with pytest.raises(NotFound):
        read_one(catalog.entities, table, fqn="service.database.schema.x", most_bytes=1_000)


def test_read_one_minds_kind_and_deletion_state(tables: Fixture) -> None:
    gone = tables.delete(tables.table("gone")).entity.id
    tables.project()

    with pytest.raises(NotFound):
        read_one(tables.entities, KINDS["table"], entity_id=gone)
    with pytest.raises(NotFound):
        read_one(tables.entities, KINDS["database"], entity_id=gone, include=Include.ALL)
    found = read_one(tables.entities, KINDS["table"], entity_id=gone, include=Include.ALL)
    assert json.loads(found.body)["deleted"] is True
    assert (found.version, found.position) == ("0.2", tables.log.head())


def test_documents_leave_out_what_is_not_there(tables: Fixture) -> None:
    claim = tables.log.claim("table", "service.database.schema.a")
    assert claim is not None

    found = tables.entities.documents([claim.id, new_id()])

    assert list(found) == [claim.id]
    assert json.loads(found[claim.id])["columns"][0]["name"] == "id"


@pytest.mark.parametrize("fields", [(), ("columns",)])
def test_page_that_waits_for_its_client_holds_no_rows(
    catalog: Fixture, fields: tuple[str, ...]
) -> None:
    catalog.schema()
    for name in "abcd":
        catalog.table(name, description="x" * 1_200_000, columns=[WIDE])
    catalog.project()
    request = ListRequest(kind=KINDS["table"], limit=10, fields=fields)
    chunks = list_page(catalog.entities, request)
    assert next(chunks) == b""
    tracemalloc.start()
    try:
        held = []
        for chunk in chunks:
            size = len(chunk)
            del chunk
            held.append((size > 1_000_000, tracemalloc.get_traced_memory()[0] < 300_000))
    finally:
        tracemalloc.stop()
    assert held == [(True, True)] * 4 + [(False, True)]


def test_list_with_a_pattern_too_large_for_it_is_refused(tables: Fixture) -> None:
    pattern = name_filter(KINDS["table"], {"tableRegex": "orders"})
    assert pattern is not None
    too_large = replace(pattern, most_work=5 * pattern.size - 1)
    request = ListRequest(kind=KINDS["table"], limit=1, names=too_large)
    for read in (small_page, lambda model, request: next(list_page(model, request))):
        with pytest.raises(InvalidInput, match="too large for the names of 5 entities"):
            read(tables.entities, request)
