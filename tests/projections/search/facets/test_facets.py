"""Facets of searches: which there are, what narrows each, and how they are answered."""

import json
from typing import Any

import msgspec
import pytest

from domain.errors import InvalidInput
from domain.kinds.registry import KINDS
from projections.search.aggregations import Terms
from projections.search.answers.queries import SearchRequest, search
from projections.search.documents.sources import BoundedSources
from projections.search.engine import Bucket, Buckets
from projections.search.facets import facets
from projections.search.facets.facet_answers import FacetWriter
from projections.search.language.field_types import field_type
from projections.search.restriction import EVERYTHING, Visibility
from projections.visibility.withholding import FieldWithheld, Withheld
from tests.brief_engines import brief_engine
from tests.projections.search.conftest import Catalog, make_entity

MYSQL = {"serviceType": "Mysql", "service": {"type": "databaseService", "name": "Prod", "id": "1"}}
KAFKA = {"serviceType": "Kafka", "service": {"type": "messagingService", "name": "k", "id": "2"}}
SENSITIVE = [{"tagFQN": "PII.Sensitive", "source": "Classification"}]
TIERED = [*SENSITIVE, {"tagFQN": "Tier.Tier1", "source": "Classification"}]


@pytest.fixture
def shop() -> Any:
    catalog = Catalog(brief_engine()).add(
        make_entity("orders", tags=TIERED, updated_at=1_704_067_199_999, **MYSQL),
        make_entity("bills", tags=SENSITIVE, updated_at=1_704_067_200_000, **MYSQL),
        make_entity("clicks", "topic", tags=SENSITIVE, **KAFKA),
        make_entity("gone", deleted=True, **KAFKA),
        make_entity("endpoint", "apiEndpoint"),
    )
    yield catalog
    catalog.engine.close()


def buckets(answer: Any, name: str) -> list[tuple[Any, int]]:
    return [(each["key"], each["doc_count"]) for each in answer["aggregations"][name]["buckets"]]


def asked(**aggregations: Any) -> bytes:
    return json.dumps(aggregations).encode()


def test_usual_facets_are_given_without_hits_or_where_they_are_wanted(shop: Catalog) -> None:
    assert "aggregations" not in shop.respond("")
    assert "aggregations" not in shop.respond("", size=0, include_aggregations=False)
    without_hits = shop.respond("", size=0)
    assert list(without_hits["aggregations"]) == [
        f"sterms#{field}" for field in facets.DEFAULT_FIELDS
    ]
    wanted = shop.respond("", include_aggregations=True)
    assert wanted["aggregations"] == without_hits["aggregations"]
    assert len(wanted["hits"]["hits"]) == 4


def test_usual_facets_count_what_is_found(shop: Catalog) -> None:
    answer = shop.respond("", size=0)
    assert answer["aggregations"]["sterms#serviceType"] == {
        "doc_count_error_upper_bound": 0,
        "sum_other_doc_count": 0,
        "buckets": [{"key": "mysql", "doc_count": 2}, {"key": "kafka", "doc_count": 1}],
    }
    kinds = [("table", 2), ("apiEndpoint", 1), ("topic", 1)]
    assert buckets(answer, "sterms#entityType") == kinds
    assert buckets(answer, "sterms#entityType.keyword")[1] == ("apiendpoint", 1)
    assert buckets(answer, "sterms#service.displayName.keyword") == [("prod", 2), ("k", 1)]
    assert buckets(answer, "sterms#tier.tagFQN") == [("tier.tier1", 1)]
    narrowed = shop.respond("", size=0, query_filter=b'{"term": {"serviceType": "Kafka"}}')
    assert buckets(narrowed, "sterms#serviceType") == [("kafka", 1)]


def test_usual_facets_are_of_fields_that_are_kept() -> None:
    types = {field_type(field) for field in facets.DEFAULT_FIELDS}
    assert types <= {"text", "keyword"}


def test_facet_leaves_out_what_is_chosen_in_it(shop: Catalog) -> None:
    chosen = {
        "bool": {
            "must": [
                {"bool": {"should": [{"term": {"serviceType": "Mysql"}}]}},
                {"bool": {"should": [{"term": {"tags.tagFQN": "Tier.Tier1"}}]}},
            ]
        }
    }
    answer = shop.respond(
        "", include_aggregations=True, post_filter=json.dumps({"query": chosen}).encode()
    )
    assert [hit["_source"]["name"] for hit in answer["hits"]["hits"]] == ["orders"]
    # What else could be chosen in a facet, given what is chosen in the others.
    assert buckets(answer, "sterms#serviceType") == [("mysql", 1)]
    assert buckets(answer, "sterms#tags.tagFQN") == [("pii.sensitive", 2), ("tier.tier1", 1)]
    assert buckets(answer, "sterms#entityType") == [("table", 1)]


@pytest.mark.parametrize(
    ("post_filter", "expected"),
    [
        ({"terms": {"serviceType.keyword": ["mysql"]}}, [("mysql", 2), ("kafka", 1)]),
        ({"bool": {"must_not": {"term": {"serviceType": "mysql"}}}}, [("mysql", 2), ("kafka", 1)]),
        ({"term": {"entityType": "topic"}}, [("kafka", 1)]),
        (
            {
                "bool": {
                    "should": [{"term": {"serviceType": "mysql"}}, {"term": {"name": "clicks"}}]
                }
            },
            [("mysql", 2), ("kafka", 1)],
        ),
        (
            {"bool": {"should": [{"term": {"serviceType": "mysql"}}, {"term": {"name": "bills"}}]}},
            [("mysql", 2)],
        ),
        ({"bool": {"filter": [{"term": {"name": "bills"}}], "must": []}}, [("mysql", 1)]),
        ({"multi_match": {"query": "clicks"}}, [("kafka", 1)]),
    ],
)
def test_facet_is_narrowed_by_conditions_on_other_fields(
    shop: Catalog, post_filter: Any, expected: Any
) -> None:
    answer = shop.respond(
        "", size=0, post_filter=json.dumps(post_filter).encode(), include_aggregations=True
    )
    assert buckets(answer, "sterms#serviceType") == expected


def test_named_aggregations_come_instead_of_the_usual_ones(shop: Catalog) -> None:
    aggregations = asked(
        types={
            "terms": {"field": "serviceType", "size": 1},
            "aggs": {
                "best": {"top_hits": {"size": 1, "sort": ["name"], "_source": ["name"]}},
                "time": {
                    "date_histogram": {
                        "field": "updatedAt",
                        "calendar_interval": "year",
                        "min_doc_count": 1,
                    }
                },
            },
        },
        deleted={"terms": {"field": "deleted"}},
        versions={"terms": {"field": "version"}},
        moments={"terms": {"field": "updatedAt", "size": 1, "order": {"_key": "asc"}}},
    )
    answer = shop.respond("", aggregations=aggregations, index="table")
    bills = next(each.id for each in shop.entities.values() if each.name == "bills")
    assert answer["aggregations"] == {
        "sterms#types": {
            "doc_count_error_upper_bound": 0,
            "sum_other_doc_count": 0,
            "buckets": [
                {
                    "key": "mysql",
                    "doc_count": 2,
                    "top_hits#best": {
                        "hits": {
                            "total": {"value": 2, "relation": "eq"},
                            "max_score": None,
                            "hits": [
                                {
                                    "_index": "table_search_index",
                                    "_id": bills,
                                    "_score": None,
                                    "_source": {"name": "bills"},
                                    "sort": ["bills", "bills", bills],
                                }
                            ],
                        }
                    },
                    "date_histogram#time": {
                        "buckets": [
                            {
                                "key": 1_672_531_200_000,
                                "key_as_string": "2023-01-01T00:00:00.000Z",
                                "doc_count": 1,
                            },
                            {
                                "key": 1_704_067_200_000,
                                "key_as_string": "2024-01-01T00:00:00.000Z",
                                "doc_count": 1,
                            },
                        ]
                    },
                }
            ],
        },
        "lterms#deleted": {
            "doc_count_error_upper_bound": 0,
            "sum_other_doc_count": 0,
            "buckets": [{"key": 0, "key_as_string": "false", "doc_count": 2}],
        },
        "dterms#versions": {
            "doc_count_error_upper_bound": 0,
            "sum_other_doc_count": 0,
            "buckets": [{"key": 0.1, "doc_count": 2}],
        },
        "lterms#moments": {
            "doc_count_error_upper_bound": 0,
            "sum_other_doc_count": 1,
            "buckets": [
                {
                    "key": 1_704_067_199_999,
                    "key_as_string": "2023-12-31T23:59:59.999Z",
                    "doc_count": 1,
                }
            ],
        },
    }
    with pytest.raises(InvalidInput, match="aggregations are given, and includeAggregations"):
        shop.respond("", aggregations=aggregations, include_aggregations=False)


def test_withheld_fields_make_no_facets(shop: Catalog) -> None:
    withheld = {"topic": Withheld("topic", frozenset({"tags", "service"}))}
    visibility = Visibility(frozenset(KINDS), withheld)

    def answer(**given: Any) -> Any:
        request = SearchRequest(q="", **given)
        body = search(request, shop.engine, shop.read_sources, visibility).body
        return json.loads(body)

    usual = answer(size=0)["aggregations"]
    left_out = {"tags.tagFQN", "tier.tagFQN", "service.displayName.keyword"}
    assert set(usual) == {
        f"sterms#{each}" for each in facets.DEFAULT_FIELDS if each not in left_out
    }
    # The tables withhold nothing.
    assert "sterms#tags.tagFQN" in answer(size=0, index="table")["aggregations"]
    top = {"top_hits": {"sort": [{"service.name": "asc"}]}}
    for refused in (
        asked(a={"terms": {"field": "tags.tagFQN"}}),
        asked(a={"terms": {"field": "tier.tagFQN"}}),
        asked(a={"terms": {"field": "name"}, "aggs": {"b": {"terms": {"field": "tags.source"}}}}),
        asked(a=top),
        asked(a={"top_hits": {"_source": ["name", "tags"]}}),
    ):
        with pytest.raises(FieldWithheld, match="of topic is withheld from your roles"):
            answer(aggregations=refused)
    shown = answer(aggregations=asked(a={"top_hits": {"size": 9}}), index="topic")
    (hit,) = shown["aggregations"]["top_hits#a"]["hits"]["hits"]
    assert set(hit["_source"]) == {
        "id",
        "name",
        "fullyQualifiedName",
        "serviceType",
        "entityType",
    }


def test_kinds_that_the_caller_may_not_see_are_not_counted(shop: Catalog) -> None:
    request = SearchRequest(q="", size=0)
    body = search(
        request, shop.engine, shop.read_sources, Visibility(frozenset({"topic"}), {})
    ).body
    assert buckets(json.loads(body), "sterms#entityType") == [("topic", 1)]
    assert buckets(json.loads(body), "sterms#serviceType") == [("kafka", 1)]


def test_top_hits_leave_out_what_is_gone_and_what_nobody_asked_for(shop: Catalog) -> None:
    orders = next(each for each in shop.entities.values() if each.name == "orders")
    del shop.entities[orders.id]
    top = asked(a={"top_hits": {"sort": [{"name": "desc"}], "size": 2, "_source": True}})
    answer = shop.respond("", aggregations=top, index="table")
    hits = answer["aggregations"]["top_hits#a"]["hits"]
    assert [hit["_source"]["name"] for hit in hits["hits"]] == ["bills"]
    bare = asked(a={"top_hits": {"_source": False}})
    answer = shop.respond("", aggregations=bare, index="table")
    hits = answer["aggregations"]["top_hits#a"]["hits"]
    assert [set(hit) for hit in hits["hits"]] == [{"_index", "_id", "_score"}] * 2
    assert hits["max_score"] == 1.0


def test_moments_beyond_the_calendar_are_answered(shop: Catalog) -> None:
    shop.add(make_entity("late", updated_at=10**17))
    by_moment = asked(a={"terms": {"field": "updatedAt"}})
    answer = shop.respond("name:late", aggregations=by_moment)
    (bucket,) = answer["aggregations"]["lterms#a"]["buckets"]
    assert bucket == {"key": 10**17, "key_as_string": str(10**17), "doc_count": 1}


def test_moments_too_large_for_json_are_numbers_all_the_same() -> None:
    asked_for = Terms(name="a", field="appliedAt", values="moments")
    writer = FacetWriter(BoundedSources(lambda _: {}), EVERYTHING)
    written = writer.written([asked_for], [Buckets((Bucket(1e40, 1),))])
    (bucket,) = json.loads(msgspec.json.encode(written))["lterms#a"]["buckets"]
    assert bucket == {"key": 1e40, "key_as_string": str(int(1e40)), "doc_count": 1}
