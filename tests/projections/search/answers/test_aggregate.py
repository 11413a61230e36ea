"""One facet of a search: values by pattern, nearest first, with documents of each."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest

from domain.errors import InvalidInput
from domain.kinds.registry import KINDS
from projections.search.answers.aggregate import AggregateRequest, TopHitsRequest, search_request
from projections.search.answers.queries import search
from projections.search.documents import sources
from projections.search.restriction import Visibility
from projections.visibility.withholding import FieldWithheld, Withheld
from tests.brief_engines import brief_engine
from tests.projections.search.conftest import Catalog, make_entity

FIELD = "columns.name.keyword"
COLUMNS = {
    "orders": ["id", "name", "Customer_Name"],
    "bills": ["id", "named", "names.x"],
    "old": ["id", "first_name"],
}


@pytest.fixture
def shop() -> Any:
    catalog = Catalog(brief_engine())
    for table, names in COLUMNS.items():
        columns = [{"name": name, "dataType": "INT"} for name in names]
        catalog.add(make_entity(table, columns=columns, deleted=table == "old"))
    catalog.add(make_entity("clicks", "topic"))
    yield catalog
    catalog.engine.close()


def answered(shop: Catalog, field: str = FIELD, **given: Any) -> Any:
    request = search_request(AggregateRequest(field_name=field, **given))
    return json.loads(search(request, shop.engine, shop.read_sources).body)


def keys(shop: Catalog, *args: Any, **given: Any) -> list[tuple[str, int]]:
    answer = answered(shop, *args, **given)
    (facet,) = answer["aggregations"].values()
    return [(bucket["key"], bucket["doc_count"]) for bucket in facet["buckets"]]


def test_aggregate_counts_values_by_key_without_hits(shop: Catalog) -> None:
    answer = answered(shop, size=2)
    assert answer["hits"] == {
        "total": {"value": 2, "relation": "eq"},
        "max_score": 1.0,
        "hits": [],
    }
    assert answer["aggregations"] == {
        f"sterms#{FIELD}": {
            "doc_count_error_upper_bound": 0,
            "sum_other_doc_count": 3,
            "buckets": [{"key": "customer_name", "doc_count": 1}, {"key": "id", "doc_count": 2}],
        }
    }


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("", ["customer_name", "id", "name", "named", "names.x"]),
        (".*", ["customer_name", "id", "name", "named", "names.x"]),
        (".*NAME.*", ["name", "named", "names.x", "customer_name"]),
        (".*names.x.*", ["names.x"]),
        (r".*names\.x.*", ["names.x"]),
        (".*me.*", ["customer_name", "name", "named", "names.x"]),
        ("name.*", ["name", "named", "names.x"]),
        (".*(ed|id)", ["id", "named"]),
        (".*nothing.*", []),
    ],
)
def test_value_chooses_among_values(shop: Catalog, value: str, expected: list[str]) -> None:
    assert [key for key, _ in keys(shop, field_value=value)] == expected


def test_size_cuts_the_nearest(shop: Catalog) -> None:
    assert keys(shop, field_value=".*name.*", size=2) == [("name", 1), ("named", 1)]
    assert keys(shop, field_value=".*name.*", size=0) == []


def test_query_text_and_filter_narrow_what_is_counted(shop: Catalog) -> None:
    assert keys(shop, query="orders") == [("customer_name", 1), ("id", 1), ("name", 1)]
    as_filter = json.dumps({"query": {"term": {"name.keyword": "bills"}}})
    assert keys(shop, query=as_filter) == [("id", 1), ("named", 1), ("names.x", 1)]
    assert keys(shop, query=as_filter, query_text="orders") == []
    assert keys(shop, query="*", query_text="orders")[:1] == [("customer_name", 1)]
    assert keys(shop, index="topic") == []
    assert keys(shop, deleted=True) == [("first_name", 1), ("id", 1)]


def test_buckets_give_fields_of_their_documents(shop: Catalog) -> None:
    given = {"field_value": "id", "source_fields": ("name",)}
    (facet,) = answered(shop, **given)["aggregations"].values()
    top = facet["buckets"][0]["top_hits#top"]["hits"]
    assert [hit["_source"] for hit in top["hits"]] == [{"name": "bills"}, {"name": "orders"}]
    assert top["total"] == {"value": 2, "relation": "eq"}
    last = TopHitsRequest(size=1, sort_field="name", sort_order="desc")
    (facet,) = answered(shop, **given, top_hits=last)["aggregations"].values()
    hits = facet["buckets"][0]["top_hits#top"]["hits"]["hits"]
    assert [hit["_source"] for hit in hits] == [{"name": "orders"}]


def test_document_in_many_buckets_is_read_once_and_counts_where_it_is_shown(shop: Catalog) -> None:
    columns = [{"name": f"wide_{n}", "dataType": "INT"} for n in range(9)]
    shop.add(make_entity("wide", columns=columns))
    large = b'{"name":"wide","description":"%b"}' % (b"x" * (sources.MAX_SOURCES // 8))
    reads: list[str] = []

    def read_sources(ids: Sequence[str]) -> Mapping[str, bytes]:
        reads.extend(ids)
        return dict.fromkeys(ids, large)

    def named(*fields: str) -> list[Any]:
        request = search_request(
            AggregateRequest(field_name=FIELD, field_value="wide_.*", source_fields=fields)
        )
        answer = json.loads(search(request, shop.engine, read_sources).body)
        (facet,) = answer["aggregations"].values()
        tops = [bucket["top_hits#top"]["hits"]["hits"] for bucket in facet["buckets"]]
        return [hit["_source"] for hits in tops for hit in hits]

    assert named("name") == [{"name": "wide"}] * 9
    assert len(reads) == 1
    with pytest.raises(InvalidInput, match=r"documents of all hits, .* have more than"):
        named("description")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"field": "nmae"}, "field: no kind has a field 'nmae'"),
        ({"field": "description"}, "field: description is prose"),
        ({"size": -1}, "size must be from 0 to 10000, got -1"),
        ({"size": 10_001}, "size must be from 0 to 10000"),
        ({"field_value": "(a"}, "value: .*unbalanced"),
        ({"field": "version", "field_value": "1"}, "value chooses among texts, and version has"),
        ({"source_fields": ("nmae",)}, "sourceFields: no kind has a field 'nmae'"),
        (
            {"top_hits": TopHitsRequest(size=101)},
            "topHitsSize .topHits.size. must be from 0 to 100",
        ),
        (
            {"top_hits": TopHitsRequest(sort_field="x")},
            "topHitsSortField .topHits.sortField. must be _doc or one",
        ),
        (
            {"top_hits": TopHitsRequest(sort_order="up")},
            "topHitsSortOrder .topHits.sortOrder. must be asc or desc",
        ),
        ({"fetch_child_aliases": "*"}, "aliases are given by index alone"),
        ({"query": "{]"}, "query is not valid JSON"),
        ({"query": '{"term": {"nmae": 1}}'}, "query: no kind has a field 'nmae'"),
        ({"query": "("}, "q: something is expected at the end"),
    ],
)
def test_what_cannot_be_counted_is_refused_by_name(
    shop: Catalog, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        answered(shop, **given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"field_name": "tags.tagFQN"}, "^field: 'tags.tagFQN' of table is withheld"),
        ({"source_fields": ("tags.tagFQN",)}, "^sourceFields: 'tags.tagFQN' of table"),
        ({"query": "tags.tagFQN:a"}, "^q: "),
        ({"query": '{"term": {"tags.tagFQN": "a"}}'}, "^query: "),
        ({"query_text": "tags.tagFQN:a"}, "^queryText: "),
    ],
)
def test_withheld_fields_are_refused_by_parameter(
    shop: Catalog, given: dict[str, Any], message: str
) -> None:
    request = search_request(AggregateRequest(**{"field_name": "name", **given}))
    withheld = {"table": Withheld("table", frozenset({"tags"}))}
    with pytest.raises(FieldWithheld, match=message):
        search(request, shop.engine, shop.read_sources, Visibility(frozenset(KINDS), withheld))


def test_request_takes_the_keys_of_openmetadata_alone() -> None:
    read = msgspec.json.Decoder(AggregateRequest).decode
    body = {"fieldName": "name", "topHits": {"sortField": "_doc"}, "sourceFields": ["name"]}
    assert read(json.dumps(body)).top_hits == TopHitsRequest()
    with pytest.raises(msgspec.ValidationError, match="unknown field"):
        read(b'{"fieldName": "name", "fields": []}')
