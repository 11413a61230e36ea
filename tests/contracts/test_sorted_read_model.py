"""Promises of every sorted read model: order, totals, whole commits, and the same cursors."""

import asyncio
import json
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.postgres_server import PostgresServer
from domain.errors import InvalidInput, StoreUnavailable
from domain.kinds.names import name_key, split
from domain.kinds.registry import KINDS
from projections.entities.cursors import Place, encode
from projections.entities.list_pages import list_page
from projections.entities.list_port import Include, ListRequest
from projections.entities.name_filters import name_filter
from projections.entities.port import EntityTooLarge, SortedReadModel
from projections.entities.sqlite.model import open_read_model
from projections.entities.stored_entity import StoredEntity, columns_digest
from tests.commits import change, store
from tests.contracts.plain_read_model import PlainReadModel
from tests.contracts.remembering_model import remembering
from tests.depth import examples
from tests.postgres_models import postgres_model

OpenModel = Callable[[Path], AbstractContextManager[SortedReadModel]]
BACKENDS: dict[str, OpenModel] = {
    "sqlite file": lambda directory: closing(open_read_model(directory / "entities.db")),
    "sqlite that remembers": remembering,
    "plain objects": lambda _: closing(PlainReadModel()),
}
TABLE, CONTRACT, SCHEMA = KINDS["table"], KINDS["dataContract"], KINDS["databaseSchema"]


@pytest.fixture(params=[*BACKENDS, "postgres"])
def model(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SortedReadModel]:
    with opening(request, request.param)(tmp_path) as opened:
        yield opened


def opening(request: pytest.FixtureRequest, backend: str) -> OpenModel:
    if backend != "postgres":
        return BACKENDS[backend]
    server: PostgresServer = request.getfixturevalue("postgres")
    return lambda _: postgres_model(server)


def uuid(number: int) -> str:
    return f"00000000-0000-7000-8000-{number:012}"


def stored(
    number: int,
    name: str,
    kind: str = "table",
    *,
    deleted: int = 0,
    status: str | None = None,
    scopes: list[str] | None = None,
    covered: int = 0,
    position: int = 1,
    **optional: Any,
) -> StoredEntity:
    core = {"id": uuid(number), "name": name, "version": 0.1}
    columns = (
        kind,
        deleted,
        name,
        uuid(number),
        f"{name}_{number}",
        status,
        json.dumps(scopes or []),
        covered,
        position,
        f"{number:08x}",
        msgspec.json.encode(core),
        msgspec.json.encode(optional),
    )
    return StoredEntity(*columns, columns_digest(columns))


def fill(model: SortedReadModel, *entities: StoredEntity, position: int = 1) -> None:
    store(model, {one.id: one for one in entities}, position, f"at {position}")


def page(model: SortedReadModel, limit: int = 10, **options: Any) -> dict[str, Any]:
    request = ListRequest(**{"kind": TABLE, "limit": limit, **options})
    answer: dict[str, Any] = json.loads(read(model, request))
    return answer


def read(model: SortedReadModel, request: ListRequest) -> bytes:
    """A page, as an event loop reads it."""

    async def iteration() -> bytes:
        return b"".join(list_page(model, request))

    return asyncio.run(iteration())


def names(answer: dict[str, Any]) -> list[str]:
    return [item["name"] for item in answer["data"]]


def test_model_without_commits_is_empty(model: SortedReadModel) -> None:
    assert (model.checkpoint(), model.count()) == (0, 0)
    assert model.checkpoint_and_fingerprint() == (0, "")
    assert (model.digests(), model.deleted()) == ({}, {})
    assert page(model) == {"data": [], "paging": {"total": 0}}
    assert (model.document("table", entity_id=uuid(1)), model.documents([uuid(1)])) == (None, {})
    with model.snapshot() as snapshot:
        assert (snapshot.position, snapshot.fingerprint) == (0, "")
        assert [*snapshot.ids(), *snapshot.entities(None)] == []


def test_commit_stores_replaces_and_removes_with_its_checkpoint(model: SortedReadModel) -> None:
    fill(model, stored(1, "a"), stored(2, "b"), stored(3, "c"))
    moved = stored(1, "z", deleted=1, position=4)

    store(model, {uuid(1): moved, uuid(2): None, uuid(9): None}, 7, "seven")

    assert (model.checkpoint(), model.count()) == (7, 2)
    assert model.checkpoint_and_fingerprint() == (7, "seven")
    assert names(page(model, include=Include.ALL)) == ["c", "z"]
    assert page(model) == {
        "data": [{"id": uuid(3), "name": "c", "version": 0.1}],
        "paging": {"total": 1},
    }
    assert model.deleted() == {"table": 1}


def test_commit_that_fails_changes_nothing(model: SortedReadModel) -> None:
    fill(model, stored(1, "a"))
    broken = msgspec.structs.replace(stored(2, "b"), scopes="[")

    with pytest.raises(ValueError, match=r".+"):
        fill(model, stored(1, "aa"), broken, position=2)

    assert (model.checkpoint_and_fingerprint(), names(page(model))) == ((1, "at 1"), ["a"])


def test_digests_are_sums_over_what_is_stored(model: SortedReadModel) -> None:
    a, b, c = stored(1, "a"), stored(2, "b"), stored(3, "c", "dashboard")
    fill(model, a, b, c)
    fill(model, changed := stored(1, "a", position=2), position=2)

    def total(*entities: StoredEntity) -> int:
        return sum(int.from_bytes(one.digest, "big") for one in entities) % 2**128

    expected = {"table": (2, total(changed, b)), "dashboard": (1, total(c))}
    assert model.digests() == expected
    with model.snapshot() as snapshot:
        assert snapshot.digests() == expected
    store(model, {one.id: None for one in (a, b, c)}, 3, "")
    assert (model.digests(), model.count()) == ({}, 0)


def test_commit_goes_on_from_where_it_was_begun_or_changes_nothing(
    model: SortedReadModel,
) -> None:
    begun = model.checkpoint_and_fingerprint()
    fill(model, stored(1, "a"), stored(2, "b"))
    fill(model, stored(1, "newer"), position=3)
    rows = {uuid(1): stored(1, "older"), uuid(2): None, uuid(3): stored(3, "c")}
    older = {key: change(one, 2) for key, one in rows.items()}

    for after in (begun, (1, "at 1"), (3, "of another log"), (4, "at 3")):
        with pytest.raises(StoreUnavailable, match="another process feeds the sorted read model"):
            model.apply(older, 2, "older", after=after)

    assert model.checkpoint_and_fingerprint() == (3, "at 3")
    assert (names(page(model)), model.count()) == (["b", "newer"], 2)
    model.apply({uuid(2): change(None, 4)}, 4, "four", after=(3, "at 3"))
    assert (model.checkpoint(), names(page(model))) == (4, ["newer"])


def test_documents_are_found_by_id_and_by_name(model: SortedReadModel) -> None:
    one = stored(1, "a", position=3, tags=[], columns=[{"name": "id"}])
    fill(model, one, stored(2, "b", deleted=1))

    for which in ({"entity_id": one.id}, {"fqn": one.fqn}):
        document = model.document("table", **which)  # type: ignore[arg-type]
        assert document is not None
        assert (document.core, document.optional) == (one.core, one.optional)
        assert (document.position, document.deleted) == (3, False)
        assert document.last_event == one.last_event
        assert model.document("dashboard", **which) is None  # type: ignore[arg-type]
    deleted = model.document("table", entity_id=uuid(2))
    assert deleted is not None
    assert deleted.deleted
    assert {
        key: json.loads(value) for key, value in model.documents([uuid(1), uuid(9)]).items()
    } == {uuid(1): {**json.loads(one.core), "tags": [], "columns": [{"name": "id"}]}}


def test_documents_are_read_in_the_order_of_their_ids_until_they_are_enough(
    model: SortedReadModel,
) -> None:
    fill(model, *(stored(n, f"e{n}", description="x" * 10_000) for n in range(120)))
    asked = [uuid(n) for n in (999, *range(119, -1, -1))]

    def read(most_bytes: int) -> list[str]:
        return [*model.documents(asked, most_bytes)]

    assert read(1) == asked[1:2]
    assert read(10_000) == asked[1:2]
    assert read(35_000) == asked[1:5]
    assert read(1_000_000) == asked[1 : 1 + len(read(1_000_000))]
    assert 95 < len(read(1_000_000)) <= 100
    assert read(10_000_000) == asked[1:]
    assert 25 < len(model.documents(iter(asked))) < 28
    assert model.documents([uuid(999)]) == model.documents([]) == {}


def test_document_above_a_size_is_not_read(model: SortedReadModel) -> None:
    fill(model, stored(1, "a", description="x" * 1_000))

    with pytest.raises(EntityTooLarge):
        model.document("table", entity_id=uuid(1), most_bytes=500)
    assert model.document("table", entity_id=uuid(1), most_bytes=4_000) == model.document(
        "table", entity_id=uuid(1)
    )


def test_list_is_in_code_point_order_of_names_then_ids(model: SortedReadModel) -> None:
    given = ["b", "B", "a", "é", "e\u0301", "Я", "10", "9", "a.b", 'q"q', "\U0001f600", "\uffee"]
    fill(
        model, *(stored(n, name) for n, name in enumerate(given)), stored(90, "a"), stored(80, "a")
    )

    answer = page(model, 100)

    assert names(answer) == sorted([*given, "a", "a"])
    ids = [item["id"] for item in answer["data"] if item["name"] == "a"]
    assert ids == [uuid(2), uuid(80), uuid(90)]


def test_cursors_are_these_bytes_for_every_database(model: SortedReadModel) -> None:
    fill(model, *(stored(n, name) for n, name in enumerate("abcde")))

    first = page(model, 2)["paging"]
    second = page(model, 2, after=first["after"])["paging"]

    assert first == {"total": 5, "after": "yMIepQAAAAAAAABwAIAAAAAAAAABYg"}
    assert second == {
        "total": 5,
        "before": "e7rLEQEAAAAAAABwAIAAAAAAAAACYw",
        "after": "E5fZEgAAAAAAAABwAIAAAAAAAAADZA",
    }


def of_name(number: int, fqn: str, kind: str = "table", **more: Any) -> StoredEntity:
    """An entity with a qualified name of its own."""
    columns = msgspec.structs.astuple(
        msgspec.structs.replace(stored(number, split(fqn)[-1], kind, **more), fqn=fqn)
    )[:-1]
    return StoredEntity(*columns, columns_digest(columns))


@pytest.mark.parametrize(
    ("given", "options", "expected"),
    [
        ({"tableRegex": "^dim_"}, {}, ["dim_a", "dim_b", "dim_c"]),
        ({"tableRegex": "_a"}, {}, ["dim_a", "fact_a"]),
        ({"tableRegex": "^dim_"}, {"exclude": True}, ["DIM_z", "fact_a", "has.dot"]),
        ({"databaseSchemaRegex": "^sales$"}, {}, ["DIM_z", "dim_a", "dim_b", "fact_a"]),
        ({"databaseRegex": "two"}, {}, ["has.dot"]),
        ({"tableRegex": "^dim_", "databaseSchemaRegex": "sales"}, {}, ["dim_a", "dim_b"]),
        ({"tableRegex": r"\."}, {}, ["has.dot"]),
        ({"tableRegex": r"^s\.one\.sales\.d"}, {"by_fqn": True}, ["dim_a", "dim_b"]),
        ({"databaseSchemaRegex": r"^s\.one\.hr$"}, {"by_fqn": True}, ["dim_c"]),
        ({"tableRegex": r'"has\.dot"$'}, {"by_fqn": True}, ["has.dot"]),
    ],
)
def test_lists_are_narrowed_by_names_with_their_totals_and_cursors(
    model: SortedReadModel, given: dict[str, str], options: dict[str, bool], expected: list[str]
) -> None:
    service, database = uuid(900), uuid(901)
    scopes = [service, database]
    fill(
        model,
        of_name(1, "s.one.sales.dim_a", scopes=scopes),
        of_name(2, "s.one.sales.dim_b", scopes=scopes),
        of_name(3, "s.one.hr.dim_c", scopes=scopes),
        of_name(4, "s.one.sales.fact_a", scopes=scopes),
        of_name(5, "s.one.sales.DIM_z", scopes=scopes),
        of_name(6, 's.two."the schema"."has.dot"', scopes=scopes),
        of_name(7, "s.one.sales.dim_gone", scopes=scopes, deleted=1),
        stored(8, "service", "databaseService"),
        stored(9, "database", "database"),
    )
    wanted = name_filter(TABLE, given, **options)

    assert names(page(model, 100, names=wanted)) == expected
    walked: list[str] = []
    cursor = None
    while True:
        answer = page(model, 2, names=wanted, after=cursor)
        assert answer["paging"]["total"] == len(expected)
        walked += names(answer)
        if walked[2:]:
            back = page(model, 2, names=wanted, before=answer["paging"]["before"])
            assert names(back) == walked[: len(walked) - len(names(answer))][-2:]
        if (cursor := answer["paging"].get("after")) is None:
            break
    assert walked == expected
    everything = page(model, 0, names=wanted, include=Include.ALL)["paging"]["total"]
    gone = page(model, names=wanted, include=Include.DELETED)
    assert everything == len(expected) + gone["paging"]["total"]


def test_names_narrow_lists_that_other_filters_narrow_too(model: SortedReadModel) -> None:
    one, two = uuid(10), uuid(11)
    fill(
        model,
        of_name(1, "s.d.one.dim_a", scopes=[one, two]),
        of_name(2, "s.d.one.fact_a", scopes=[one, two]),
        of_name(3, "s.d.one.dim_b", scopes=[one]),
        stored(10, "one", "databaseSchema"),
        stored(11, "two", "database"),
    )
    dims = name_filter(TABLE, {"tableRegex": "^dim_"})
    schema, both = {"databaseSchema": "one_10"}, {"databaseSchema": "one_10", "database": "two_11"}

    assert names(page(model, names=dims, filters=schema)) == ["dim_a", "dim_b"]
    assert names(page(model, names=dims, filters=both)) == ["dim_a"]
    assert page(model, 1, names=dims, filters=schema)["paging"]["total"] == 2
    assert names(page(model, filters=both)) == ["dim_a", "fact_a"]


def test_cursor_belongs_to_the_names_that_its_list_is_narrowed_to(model: SortedReadModel) -> None:
    fill(model, *(of_name(n, f"s.d.s.{name}") for n, name in enumerate(("a1", "a2", "b1"))))
    narrowed = name_filter(TABLE, {"tableRegex": "1"})
    cursor = page(model, 1, names=narrowed)["paging"]["after"]

    assert names(page(model, 1, names=narrowed, after=cursor)) == ["b1"]
    for other in (
        None,
        name_filter(TABLE, {"tableRegex": "a"}),
        name_filter(TABLE, {"databaseSchemaRegex": "1"}),
        name_filter(TABLE, {"tableRegex": "1"}, exclude=True),
        name_filter(TABLE, {"tableRegex": "1"}, by_fqn=True),
    ):
        with pytest.raises(InvalidInput, match="not a cursor of this list"):
            page(model, 1, names=other, after=cursor)


def test_pages_forward_then_backward_give_the_same(model: SortedReadModel) -> None:
    fill(model, *(stored(n, name) for n, name in enumerate("abcde")))
    first = page(model, 2)
    second = page(model, 2, after=first["paging"]["after"])
    third = page(model, 2, after=second["paging"]["after"])
    back = page(model, 2, before=third["paging"]["before"])
    start = page(model, 2, before=back["paging"]["before"])

    assert [names(one) for one in (first, second, third)] == [["a", "b"], ["c", "d"], ["e"]]
    assert (back, start) == (second, first)
    assert [sorted(one["paging"]) for one in (first, third)] == [
        ["after", "total"],
        ["before", "total"],
    ]
    with pytest.raises(InvalidInput, match="not a cursor of this list"):
        page(model, 2, after=first["paging"]["after"], include=Include.ALL)


def test_page_emptied_by_a_commit_leads_back(model: SortedReadModel) -> None:
    fill(model, *(stored(n, name) for n, name in enumerate("abc")))
    cursor = page(model, 2)["paging"]["after"]
    store(model, {uuid(2): None}, 2, "")

    empty = page(model, 2, after=cursor)

    assert (empty["data"], sorted(empty["paging"])) == ([], ["before", "total"])
    assert names(page(model, 2, before=empty["paging"]["before"])) == ["a", "b"]


@pytest.mark.parametrize(("name", "backward", "on"), [("a", False, "after"), ("b", True, "before")])
def test_page_that_begins_at_its_place_does_not_lead_back_to_it(
    model: SortedReadModel, name: str, backward: bool, on: str
) -> None:
    fill(model, stored(1, "a"), stored(2, "b"))
    place = Place(name, uuid(1 + backward), inclusive=True)
    listing = ListRequest(kind=TABLE, limit=1).identity
    cursor = encode(place, listing, backward=backward).decode()

    answer = page(model, 1, **{"before" if backward else "after": cursor})

    assert names(answer) == [name]
    assert {*answer["paging"]} == {"total", on}


def test_totals_and_pages_are_narrowed_alike(model: SortedReadModel) -> None:
    entity, other = uuid(500), uuid(501)
    fill(
        model,
        stored(1, "a", "dataContract", status="Draft", scopes=[entity]),
        stored(2, "b", "dataContract", status="Active", scopes=[entity, other]),
        stored(3, "c", "dataContract", status="Active", scopes=[other]),
        stored(4, "d", "dataContract", deleted=1, status="Active", scopes=[entity]),
        stored(5, "e"),
    )

    def narrowed(**options: Any) -> list[str]:
        answer = page(model, kind=CONTRACT, **options)
        assert answer["paging"] == {"total": len(answer["data"])}
        return names(answer)

    assert narrowed() == ["a", "b", "c"]
    assert narrowed(include=Include.DELETED) == ["d"]
    assert narrowed(include=Include.ALL) == ["a", "b", "c", "d"]
    assert narrowed(status="Active") == ["b", "c"]
    assert narrowed(filters={"entity": entity}) == ["a", "b"]
    assert narrowed(filters={"entity": entity}, include=Include.ALL) == ["a", "b", "d"]
    assert narrowed(filters={"entity": entity}, status="Active") == ["b"]
    assert narrowed(filters={"entity": uuid(999)}) == []


def test_list_is_narrowed_to_entities_by_their_names(model: SortedReadModel) -> None:
    schema = stored(1, "s", "databaseSchema")
    service = stored(2, "v", "databaseService")
    fill(model, schema, service, stored(3, "a", scopes=[schema.id, service.id]))
    fill(model, stored(4, "b", scopes=[service.id]), position=2)

    assert names(page(model, filters={"databaseSchema": schema.fqn})) == ["a"]
    both = {"databaseSchema": schema.fqn, "service": service.fqn}
    assert page(model, 0, filters=both) == {"data": [], "paging": {"total": 1}}
    assert names(page(model, filters=both)) == ["a"]
    assert names(page(model, filters={"service": service.fqn})) == ["a", "b"]
    assert names(page(model, filters={"service": "nowhere"})) == []


def key(kind: str, fqn: str) -> str:
    """The key of a name in a scope."""
    return name_key(kind, fqn).hex()


def test_list_is_narrowed_by_the_filters_that_kinds_share(model: SortedReadModel) -> None:
    user, team, domain, tag = uuid(50), uuid(51), uuid(52), uuid(53)
    mine, theirs = f"owner:{user}", f"owner:{team}"
    sensitive, bare = f"tag:{key('tag', 'PII.Sensitive')}", f"tag:{key('', 'PII')}"
    term, tier = f"tag:{key('glossaryTerm', 'Terms.Order')}", f"tier:{key('tag', 'Tier.Tier1')}"
    fill(
        model,
        of_name(50, "ann", "user"),
        of_name(51, "ann", "team"),
        of_name(52, "Sales.EU", "domain"),
        of_name(53, "PII.Sensitive", "tag"),
        of_name(54, "Terms.Order", "glossaryTerm"),
        of_name(55, "Tier.Tier1", "tag"),
        stored(60, "s", "databaseSchema"),
        stored(1, "a", scopes=[mine, sensitive, bare]),
        stored(
            2, "b", scopes=sorted([mine, theirs, f"domain:{domain}", f"domain:{key('', 'EU')}"])
        ),
        stored(3, "c", scopes=sorted([tier, term, mine, uuid(60)])),
        stored(4, "d", scopes=[user]),
        stored(5, "e", deleted=1, scopes=[mine]),
    )

    def narrowed(**filters: str) -> list[str]:
        answer = page(model, filters=filters)
        assert answer["paging"] == {"total": len(answer["data"])}
        return names(answer)

    # Of two that have the name, the kind named first is meant.
    assert narrowed(owner="ann") == narrowed(owner=user) == ["a", "b", "c"]
    assert narrowed(owner=team) == ["b"]
    assert narrowed(domain="Sales.EU") == narrowed(domain="EU") == narrowed(domain=domain) == ["b"]
    assert narrowed(tag="PII.Sensitive") == narrowed(tag="PII") == narrowed(tag=tag) == ["a"]
    assert narrowed(tag="Terms.Order") == narrowed(tag=uuid(54)) == ["c"]
    assert narrowed(tier="Tier1") == narrowed(tier="Tier.Tier1") == narrowed(tier=uuid(55)) == ["c"]
    assert narrowed(owner="ann", tag="PII") == ["a"]
    assert narrowed(owner="ann", tier=uuid(55), databaseSchema="s_60") == ["c"]
    assert narrowed(tier=tag) == narrowed(tag=uuid(55)) == narrowed(tag="\0") == []
    assert narrowed(owner="nobody") == narrowed(owner="\0") == narrowed(domain=uuid(99)) == []
    both = page(model, include=Include.ALL, filters={"owner": "ann"})
    assert names(both) == ["a", "b", "c", "e"]
    regex = name_filter(TABLE, {"tableRegex": "[bc]_"}, by_fqn=True)
    assert names(page(model, filters={"owner": "ann"}, names=regex)) == ["b", "c"]
    first = page(model, 2, filters={"owner": "ann"})["paging"]["after"]
    assert names(page(model, 2, filters={"owner": "ann"}, after=first)) == ["c"]
    with pytest.raises(InvalidInput, match="not a cursor of this list"):
        page(model, 2, filters={"owner": user}, after=first)


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("most", [1, 60, 150, 10_000])
def test_page_cut_off_by_its_size_is_whole_with_its_rest(
    model: SortedReadModel, most: int, backward: bool
) -> None:
    fill(model, *(stored(n, name) for n, name in enumerate("abcdefg")))
    cursor = page(model, 1)["paging"]["after"]
    options = {"after": cursor}
    if backward:
        options = {"before": page(model, 5, after=cursor)["paging"]["after"]}
        options = {"before": page(model, 1, after=options["before"])["paging"]["before"]}
    expected = page(model, 4, **options)

    request = ListRequest(kind=TABLE, limit=4, **options)
    chunks = list_page(model, request, most_bytes=most)
    first = next(chunks)
    with ThreadPoolExecutor(1) as thread:
        rest = thread.submit(b"".join, chunks).result()

    assert (first == b"") == (most < 10_000)
    assert json.loads(first + rest) == expected


def test_reads_see_one_state_while_commits_go_on(model: SortedReadModel) -> None:
    fill(model, *(stored(n, name) for n, name in enumerate("abcd")))
    request = ListRequest(kind=TABLE, limit=3)
    with (
        ThreadPoolExecutor(1) as thread,
        model.read_list(request, None) as reader,
        model.snapshot() as snapshot,
    ):
        assert reader.whole(1) is None
        reader.hand_over()
        parts = reader.parts(1)
        read = next(parts)[:]
        thread.submit(store, model, {uuid(1): None, uuid(5): stored(5, "aa")}, 2, "").result()
        read += chain.from_iterable(parts)
        assert [one[0] for one in read] == ["a", "b", "c"]
        assert reader.totals() == (4, False)
        assert [*snapshot.ids()] == [uuid(0), uuid(1), uuid(2), uuid(3)]
        assert snapshot.position == 1

    assert names(page(model)) == ["a", "aa", "c", "d"]


def test_snapshot_gives_entities_as_they_were_stored(model: SortedReadModel) -> None:
    scopes = [uuid(7), uuid(8)]
    entities = [
        stored(2, "a", status="Draft", scopes=scopes, tags=[]),
        stored(1, "b", "dashboard", deleted=1),
    ]
    fill(model, *entities, position=6)

    with model.snapshot() as snapshot:
        assert (snapshot.position, snapshot.fingerprint) == (6, "at 6")
        assert [*snapshot.entities(None)] == [entities[1], entities[0]]
        assert [*snapshot.entities([uuid(2), uuid(9)])] == [entities[0]]
        assert [*snapshot.list_differences()] == []
    assert model.damage() == []


changes = st.lists(
    st.dictionaries(
        st.integers(0, 9),
        st.none()
        | st.tuples(
            st.sampled_from(["a", "b", "c", "Ω"]),
            st.integers(0, 1),
            st.sampled_from([None, "Draft", "Active"]),
            st.sets(st.integers(20, 22)),
        ),
    ),
    min_size=1,
    max_size=4,
)


@pytest.mark.parametrize("backend", ["sqlite that remembers", "plain objects", "postgres"])
def test_every_page_of_every_database_has_the_same_bytes(
    request: pytest.FixtureRequest, backend: str
) -> None:
    make = opening(request, backend)

    @settings(max_examples=examples(60 if backend in BACKENDS else 25, quick=10), deadline=None)
    @given(
        batches=changes,
        include=st.sampled_from(Include),
        status=st.sampled_from([None, "Draft"]),
        scope=st.sampled_from([None, 20, 21]),
        owner=st.sampled_from([None, 21]),
        limit=st.integers(1, 4),
    )
    def same(
        batches: list[dict[int, Any]],
        include: Include,
        status: str | None,
        scope: int | None,
        owner: int | None,
        limit: int,
    ) -> None:
        narrowed = {} if scope is None else {"entity": uuid(scope)}
        narrowed |= {} if owner is None else {"owner": uuid(owner)}
        which = {"include": include, "status": status, "filters": narrowed}
        with (
            tempfile.TemporaryDirectory() as folder,
            BACKENDS["sqlite file"](Path(folder)) as file,
            make(Path(folder)) as other,
        ):
            assert state(other, batches, limit, which) == state(file, batches, limit, which)

    same()


def state(
    model: SortedReadModel, batches: list[dict[int, Any]], limit: int, which: dict[str, Any]
) -> tuple[Any, ...]:
    """All pages of a list, there and back, once some batches are applied, and what is counted."""
    for position, batch in enumerate(batches, 1):
        entities = {
            uuid(number): made
            and stored(
                number,
                made[0],
                "dataContract",
                deleted=made[1],
                status=made[2],
                scopes=[uuid(one) for one in sorted(made[3])]
                + [f"owner:{uuid(one)}" for one in sorted(made[3])],
            )
            for number, made in batch.items()
        }
        store(model, entities, position, "")
    pages = walk(model, limit, "after", **which)
    back = json.loads(pages[-1])["paging"].get("before")
    if back is not None:
        pages += walk(model, limit, "before", before=back, **which)
    deleted = {kind: n for kind, n in model.deleted().items() if n}
    with model.snapshot() as snapshot:
        wrong = [*snapshot.list_differences()]
    assert wrong == []
    return pages, model.digests(), model.count(), deleted


def walk(model: SortedReadModel, limit: int, side: str, **options: Any) -> list[bytes]:
    """All pages from the one that the options name, on one side of it."""
    pages: list[bytes] = []
    while True:
        request = ListRequest(kind=CONTRACT, limit=limit, **options)
        pages.append(read(model, request))
        paging = json.loads(pages[-1])["paging"]
        if side not in paging:
            return pages
        options[side] = paging[side]


def edge(number: int, beginning: int, end: int, pipeline: int | None = None) -> StoredEntity:
    """A lineage edge as it is stored, with its number for its JSON."""
    concerned = {beginning, end} if pipeline is None else {beginning, end, pipeline}
    columns = (
        "lineageEdge",
        0,
        uuid(end),
        uuid(number),
        f"{uuid(beginning)}.{uuid(end)}",
        None,
        json.dumps(sorted(map(uuid, concerned))),
        0,
        1,
        f"{number:08x}",
        b"%d" % number,
        b"{}",
    )
    return StoredEntity(*columns, columns_digest(columns))


def test_edges_are_found_from_their_ends_and_their_pipeline(model: SortedReadModel) -> None:
    fill(
        model,
        edge(11, 1, 2),
        edge(12, 2, 3, pipeline=5),
        edge(13, 3, 1),
        edge(14, 1, 1),
        edge(10, 4, 2),
        edge(15, 2, 5, pipeline=5),
        edge(16, 5, 1, pipeline=5),
        stored(1, "one", scopes=[uuid(2)]),
        stored(3, "three", deleted=1),
    )
    with model.edges() as edges:
        assert [*edges.ending_at(uuid(2))] == [b"10", b"11"]
        assert [*edges.ending_at(uuid(1))] == [b"13", b"14", b"16"]
        assert [*edges.leaving(uuid(1))] == [b"14", b"11"]
        assert [*edges.leaving(uuid(2))] == [b"12", b"15"]
        assert [*edges.ending_at(uuid(5))] == [b"15"]
        assert [*edges.leaving(uuid(5))] == [b"16", b"12"]
        assert [*edges.ending_at(uuid(9)), *edges.leaving(uuid(9))] == []
        assert edges.deleted([uuid(1), uuid(3), uuid(9)]) == {uuid(3)}


def test_edges_are_read_in_one_state(model: SortedReadModel) -> None:
    fill(model, edge(11, 1, 2), stored(1, "one"))
    with model.edges() as edges:
        assert [*edges.ending_at(uuid(2))] == [b"11"]
        with ThreadPoolExecutor() as pool:
            pool.submit(
                store,
                model,
                {uuid(11): None, uuid(12): edge(12, 3, 2), uuid(1): stored(1, "one", deleted=1)},
                2,
                "two",
            ).result()
        assert [*edges.ending_at(uuid(2))] == [b"11"]
        assert edges.deleted([uuid(1)]) == set()
    with model.edges() as edges:
        assert [*edges.ending_at(uuid(2))] == [b"12"]
        assert edges.deleted([uuid(1)]) == {uuid(1)}


def test_moments_rise_with_the_greatest_time_so_far(model: SortedReadModel) -> None:
    assert model.first_after(0) is None
    batches = ([(10, 1), (20, 3)], [(15, 4), (30, 5)], [], [(29, 6)], [(31, 9)])
    for number, moments in enumerate(batches, 1):
        after = model.checkpoint_and_fingerprint()
        model.apply({}, 10 * number, f"at {number}", after=after, moments=moments)
    stored = [(10, 1), (20, 3), (30, 5), (31, 9)]
    asked = {-(2**63): 1, 9: 1, 10: 3, 19: 3, 20: 5, 29: 5, 30: 9, 31: None, 2**63 - 1: None}
    assert {time: model.first_after(time) for time in asked} == asked
    with model.snapshot() as snapshot:
        assert [*snapshot.moments()] == stored
