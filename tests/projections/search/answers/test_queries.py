"""The search response, parameter by parameter."""

import json

import pytest
from msgspec.structs import replace

from domain.errors import InvalidInput
from domain.kinds.registry import KINDS
from projections.search.answers import queries
from projections.search.answers.highlighting import BEGIN, END
from projections.search.answers.queries import SearchRequest, search
from projections.search.documents.sources import narrow
from projections.search.language import text
from projections.search.language.dates import Now
from projections.search.restriction import Visibility
from projections.visibility.withholding import Withheld


def test_search_answers_as_specified(shop):
    response = shop.respond("fact_orders")
    found = next(e for e in shop.entities.values() if e.name == "fact_orders")
    took = response.pop("took")
    hit = response["hits"]["hits"][0]
    score = hit["_score"]
    response["hits"]["hits"] = [hit]
    assert isinstance(took, int)
    assert response == {
        "timed_out": False,
        "_shards": {"total": 1, "successful": 1, "failed": 0, "skipped": 0},
        "hits": {
            "total": {"value": response["hits"]["total"]["value"], "relation": "eq"},
            "max_score": score,
            "hits": [
                {
                    "_index": "table_search_index",
                    "_id": found.id,
                    "_score": score,
                    "_source": {
                        "id": found.id,
                        "name": "fact_orders",
                        "fullyQualifiedName": "shop.db.public.fact_orders",
                        "description": "Fact order lines",
                        "votes": {"upVotes": 5},
                        "owners": [],
                        "tags": [],
                        "deleted": False,
                        "entityType": "table",
                    },
                    "highlight": {
                        "name": ['<span class="text-highlighter">fact_orders</span>'],
                        "fullyQualifiedName": [
                            'shop.db.public.<span class="text-highlighter">fact_orders</span>'
                        ],
                    },
                }
            ],
        },
    }


@pytest.mark.parametrize("empty", ["", "*"])
def test_search_for_nothing_finds_everything(shop, empty):
    assert len(shop.names(empty)) == 5


def test_index_selects_kinds(shop):
    assert shop.names(index="topic_search_index") == ["orders"]
    both = "topic_search_index, table_search_index"
    assert shop.found(index=both) == shop.found(index="all") == shop.found()
    assert shop.names(index="user_search_index") == []


def test_aliases_select_kinds_with_what_lies_below(shop):
    tables = shop.found(index="table_search_index")
    assert shop.found(index="table") == shop.found(index="database") == tables
    assert shop.found(index="topic, table") == shop.found(index="dataAsset") == shop.found()
    assert shop.found(index="service") == shop.found(index="user") == set()


@pytest.mark.parametrize("index", ["test_case_search_index", "testCase", "file,file_search_index"])
def test_index_that_only_openmetadata_has_is_empty(shop, index):
    response = shop.respond(index=index)
    assert response["hits"] == {
        "total": {"value": 0, "relation": "eq"},
        "max_score": None,
        "hits": [],
    }
    assert shop.names(index=f"{index},topic") == ["orders"]


def by_field(shop, name, value, **parameters):
    return shop.found(field_name=name, field_value=value, **parameters)


@pytest.mark.parametrize(
    ("field", "value", "found"),
    [
        ("fullyQualifiedName", "shop.db.public.fact_orders", {"fact_orders"}),
        ("fullyQualifiedName", "SHOP.db.PUBLIC.fact_Orders", {"fact_orders"}),
        ("fullyQualifiedName", "shop.db.public", set()),
        ("fullyQualifiedName", "*.*.public.*customer*", {"dim_customer", "customerOrders"}),
        ("fullyQualifiedName", 'shop.db.public."stg.raw_v2"', {"stg.raw_v2"}),
        ("fullyQualifiedName", "*.orders", {"orders"}),
        ("name", "orders", {"orders"}),
        ("name", "*orders", {"orders", "fact_orders", "customerOrders"}),
        ("name", "dim?customer", {"dim_customer"}),
        ("name", "customer", set()),
        ("displayName.keyword", "orders of a customer", {"customerOrders"}),
        ("columns.name", "customer_id", {"dim_customer"}),
        ("columns.name", "customer", set()),
        ("serviceType", "bigquery", {"dim_customer"}),
        ("tags.tagFQN", "tier.*", {"stg.raw_v2"}),
        ("extension.cost", "12.5", {"stg.raw_v2"}),
        ("description", "stream", {"orders"}),
    ],
)
def test_whole_value_of_a_field_is_found(shop, field, value, found):
    assert by_field(shop, field, value) == found


def test_field_search_finds_the_deleted_alone(shop):
    assert by_field(shop, "name", "*customer*", deleted=True, only_deleted=True) == {"old_customer"}


def test_visible_kinds_limit_what_is_found(shop):
    request = SearchRequest(q="")

    def total(kinds):
        found = json.loads(
            search(request, shop.engine, shop.read_sources, Visibility(kinds, {})).body
        )
        return found["hits"]["total"]["value"]

    assert total(frozenset({"topic"})) == 1
    assert total(frozenset()) == 0
    assert total(frozenset(KINDS)) == 5


def test_from_and_size_page_through_the_hits(shop):
    pages = [shop.names(size=2, from_=start) for start in (0, 2, 4)]
    assert [name for page in pages for name in page] == shop.names()
    assert shop.respond(size=0)["hits"]["hits"] == []
    assert shop.respond(size=0)["hits"]["total"]["value"] == 5


class CountsToThree:
    """An engine that goes on counting only where it must."""

    def __init__(self, engine):
        self._engine = engine

    def search(self, query, read_objects=None):
        hits = self._engine.search(query, read_objects)
        return hits if query.exact_total else replace(hits, total=3, relation="gte")


def test_track_total_hits_may_stop_counting(shop):
    def total(**parameters):
        request = SearchRequest(q="", **parameters)
        found = search(request, CountsToThree(shop.engine), shop.read_sources)
        return json.loads(found.body)["hits"]["total"]

    assert total() == {"value": 5, "relation": "eq"}
    assert total(track_total_hits=False) == {"value": 3, "relation": "gte"}


def test_sort_field_orders_and_shows_sort_values(shop):
    response = shop.respond(sort_field="name", sort_order="desc", size=1)
    hit = response["hits"]["hits"][0]
    assert hit["sort"] == ["stg.raw_v2", "stg.raw_v2", hit["_id"]]
    assert hit["_score"] is None
    assert response["hits"]["max_score"] is None
    second = shop.respond(
        sort_field="name", sort_order="desc", size=1, search_after=tuple(hit["sort"])
    )
    assert second["hits"]["hits"][0]["sort"][0] == "orders"


def test_fetch_source_false_shows_metadata_only(shop):
    hit = shop.respond("fact_orders", fetch_source=False)["hits"]["hits"][0]
    assert set(hit) == {"_index", "_id", "_score"}


def test_source_fields_that_are_named_are_shown_without_the_whole_source(shop):
    parameters = {"fetch_source": False, "include_source_fields": ("name",)}
    (hit,) = shop.respond("name.keyword:fact_orders", **parameters)["hits"]["hits"]
    assert hit["_source"] == {"name": "fact_orders"}


def test_source_fields_are_chosen(shop):
    chosen = ("name", "columns.name")
    hit = shop.respond("dim_customer", include_source_fields=chosen)["hits"]["hits"][0]
    assert hit["_source"] == {
        "name": "dim_customer",
        "columns": [{"name": "customer_id"}, {"name": "address"}],
    }
    excluded = ("votes", "id", "entityType", "owners", "tags", "deleted")
    left = shop.respond("fact_orders", exclude_source_fields=excluded)
    assert set(left["hits"]["hits"][0]["_source"]) == {"name", "fullyQualifiedName", "description"}


def test_shown_fields_are_those_that_the_caller_may_see(shop):
    request = SearchRequest(q="dim_customer", shown_fields=("name", "description"))
    plain = json.loads(search(request, shop.engine, shop.read_sources).body)
    withheld = {"table": Withheld("table", frozenset({"description"}))}
    visibility = Visibility(frozenset(KINDS), withheld)
    less = json.loads(search(request, shop.engine, shop.read_sources, visibility).body)
    assert set(plain["hits"]["hits"][0]["_source"]) == {"name", "description"}
    assert less["hits"]["hits"][0]["_source"] == {"name": "dim_customer"}


def test_words_withheld_in_other_kinds_decide_nothing(catalog, entity):
    """Whoever may not see the description of a table must not learn if it has a word."""
    catalog.add(entity("a", "topic", description="bakery"))

    def found(withheld):
        request = SearchRequest(q="bacerty", index="topic")
        visibility = Visibility(frozenset(KINDS), withheld)
        answer = json.loads(search(request, catalog.engine, catalog.read_sources, visibility).body)
        return [catalog.entities[hit["_id"]].name for hit in answer["hits"]["hits"]]

    of_tables = {"table": Withheld("table", frozenset({"description"}))}
    of_topics = {"topic": Withheld("topic", frozenset({"owners"}))}
    assert found(of_tables) == found({}) == ["a"]
    catalog.add(entity("b", "table", description="bacerty"))
    assert found(of_tables) == ["a"]
    assert found(of_tables | of_topics) == ["a"]
    assert found(of_topics) == []
    assert found({}) == []


def test_search_for_a_page_gives_values_and_what_its_text_asks_for(shop):
    request = SearchRequest(q="name:dim_customer", shown_fields=("name", "entityType"))
    answer, parsed = queries.search_response(request, shop.engine, shop.read_sources)
    sources = [hit["_source"] for hit in answer["hits"]["hits"]]
    assert {"name": "dim_customer", "entityType": "table"} in sources
    assert parsed == text.parsed("name:dim_customer")


def test_no_more_documents_are_held_than_are_read_together(shop):
    # All would be in memory at once, though little of each is shown.
    steps = []

    def read(ids):
        steps.append(list(ids))
        return shop.read_sources([ids[0]])

    def narrowed(*given):
        steps.append("narrowed")
        return narrow(*given)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(queries, "narrow", narrowed)
        request = SearchRequest(q="*", include_source_fields=("name",))
        found = search(request, shop.engine, read)
    ids = [hit["_id"] for hit in json.loads(found.body)["hits"]["hits"]]
    assert len(ids) > 2
    assert steps == [step for place in range(len(ids)) for step in (ids[place:], "narrowed")]


def test_source_has_the_keys_that_clients_look_for(shop):
    for hit in shop.respond("*")["hits"]["hits"]:
        shown = hit["_source"]
        assert [type(shown[key]) for key in ("owners", "tags", "deleted", "description")] == [
            list,
            list,
            bool,
            str,
        ]


def test_source_fields_may_be_all_of_them(shop):
    plain = shop.respond("fact_orders")["hits"]["hits"][0]
    assert (
        shop.respond("fact_orders", include_source_fields=("name", "*"))["hits"]["hits"][0] == plain
    )


def test_get_hierarchy_shows_ancestors_from_the_root_down(catalog, entity):
    service = entity("shop", "databaseService", fqn="shop")
    database = entity("db", "database", fqn="shop.db", service=_ref(service))
    schema = entity("public", "databaseSchema", fqn="shop.db.public", database=_ref(database))
    catalog.add(service, database, schema, entity("t", databaseSchema=_ref(schema)))
    response = catalog.respond("name.keyword:t", get_hierarchy=True)
    (hit,) = response["hits"]["hits"]
    assert [(step["type"], step["fullyQualifiedName"]) for step in hit["hierarchy"]] == [
        ("databaseService", "shop"),
        ("database", "shop.db"),
        ("databaseSchema", "shop.db.public"),
    ]
    assert (
        catalog.respond("name.keyword:shop", get_hierarchy=True)["hits"]["hits"][0]["hierarchy"]
        == []
    )


def test_get_hierarchy_hides_kinds_that_the_caller_may_not_see(catalog, entity):
    service = entity("shop", "databaseService", fqn="shop")
    database = entity("db", "database", fqn="shop.db", service=_ref(service))
    schema = entity("public", "databaseSchema", fqn="shop.db.public", database=_ref(database))
    catalog.add(service, database, schema, entity("t", databaseSchema=_ref(schema)))
    request = SearchRequest(q="name:t", get_hierarchy=True)
    visible = Visibility(frozenset({"table", "databaseService", "databaseSchema"}), {})
    found = search(request, catalog.engine, catalog.read_sources, visible).body
    (hit,) = json.loads(found)["hits"]["hits"]
    assert [step["type"] for step in hit["hierarchy"]] == ["databaseService", "databaseSchema"]


@pytest.mark.parametrize(
    "field", ["ownerName", "owners.name", "owners.name.keyword", "service.name", "version"]
)
@pytest.mark.parametrize("order", ["asc", "desc"])
def test_sort_field_may_be_nested_and_leaves_the_missing_last(catalog, entity, field, order):
    for place, name in enumerate("cab"):
        ref = {"type": "user", "fullyQualifiedName": name.upper()}
        some = entity(f"t{name}", owners=[ref], service=ref, version=1 + "abc".index(name))
        catalog.add(some, entity(f"x{place}", "topic", version=10))
    names = ["ta", "tb", "tc"] if order == "asc" else ["tc", "tb", "ta"]
    others = ["x0", "x1", "x2"]
    if field == "version" and order == "desc":
        names, others = others, names
    assert catalog.names(sort_field=field, sort_order=order) == [*names, *others]


def test_search_after_pages_by_score(shop):
    q, seen, after = "customer OR orders", [], None
    while True:
        hits = shop.respond(q, sort_field="_score", size=1, search_after=after)["hits"]["hits"]
        if not hits:
            break
        seen.append(hits[0]["_id"])
        after = tuple(hits[0]["sort"])
    assert seen == [hit["_id"] for hit in shop.respond(q)["hits"]["hits"]]
    assert len(seen) > 2


def _ref(entity):
    return {"id": entity.id, "type": entity.kind, "fullyQualifiedName": entity.fqn}


def test_hit_whose_entity_is_gone_is_left_out(shop):
    gone = next(e for e in shop.entities.values() if e.name == "orders")
    del shop.entities[gone.id]
    assert "orders" not in shop.names("orders")


OPENMETADATA = [
    # What its Python client asks for.
    ("", {"bool": {"must": [
        {"term": {"processedLineage": True}}, {"term": {"service.name.keyword": "shop"}}]}}),
    ("", {"bool": {"must": [
        {"bool": {"should": [{"term": {"service.name.keyword": "shop"}}]}},
        {"bool": {"must": [{"bool": {"should": [
            {"term": {"tableType": kind}} for kind in ("View", "MaterializedView", "Stream")]}}]}},
        {"bool": {"should": [{"term": {"deleted": False}}]}},
        {"bool": {"should": [{"exists": {"field": "schemaDefinition"}}]}},
        {"bool": {"should": [
            {"term": {"processedLineage": False}},
            {"bool": {"must_not": {"exists": {"field": "processedLineage"}}}}]}}]}}),
    ("", {"term": {"upstreamLineage.fromEntity.id": "x"}}),
    ("", {"terms": {"upstreamLineage.toEntity.fqnHash.keyword": ["x"]}}),
    ("email.keyword:ann@example.org", None),
    ("", {"query_string": {"query": "name:ann AND isBot:false"}}),
    # What its documentation and its pages ask for.
    ("columnNames:address", None),
    ("deleted:true", None),
    ("tags.tagFQN:user.email", None),
    ("service.type:databaseService AND version:0.1", None),
    ("service.type:databaseService AND NOT tier.tagFQN:Tier.Tier1", None),
    *(
        ("", {"term": {field: "x"}})
        for field in (
            "serviceType", "service.displayName.keyword", "entityType", "entityType.keyword",
            "tier.tagFQN", "owners.displayName.keyword", "ownerDisplayName", "ownerName",
            "domains.displayName.keyword", "domain.displayName.keyword", "tags.tagFQN",
            "classificationTags", "glossaryTags", "certification.tagLabel.tagFQN",
            "database.name.keyword", "databaseSchema.name.keyword", "database.displayName",
            "databaseSchema.displayName", "messageSchema.schemaFields.name.keyword",
            "columns.name.keyword", "columnNamesFuzzy", "tableType", "columnDescriptionStatus",
            "dataModels.displayName.keyword", "charts.displayName.keyword", "project.keyword",
            "tasks.displayName.keyword", "mlFeatures.name", "fields.name.keyword",
            "glossary.name.keyword", "entityStatus", "classification.name.keyword",
            "name.ngram", "displayName.compound", "fqnParts", "fieldNames", "descriptionStatus",
            "aliases.keyword", "fullPath", "synonyms", "columns.children.name.keyword",
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize(("q", "clause"), OPENMETADATA)
def test_fields_that_openmetadata_asks_for_are_known(shop, q, clause):
    given = {} if clause is None else {"query_filter": json.dumps({"query": clause}).encode()}
    fields = ("checksum", "processedLineage", "schemaDefinition", "columns.children", "name")
    assert shop.respond(q, include_source_fields=fields, **given)["timed_out"] is False


def test_enumerations_are_matched_whole_and_without_regard_to_case(catalog, entity):
    catalog.add(
        entity("a", tableType="View", serviceType="BigQuery", columns=[_column("INT")]),
        entity(
            "b", tableType="MaterializedView", serviceType="BigTable", columns=[_column("INTERVAL")]
        ),
        entity("c", "dataContract", entityStatus="Draft"),
    )

    def found(**clause):
        return catalog.names(query_filter=json.dumps(clause).encode())

    for spelling in ("View", "view", "VIEW"):
        assert found(term={"tableType": spelling}) == ["a"]
        assert found(match={"tableType": spelling}) == ["a"]
        assert found(terms={"tableType": [spelling]}) == ["a"]
        assert catalog.names(f"tableType:{spelling}") == ["a"]
    assert found(term={"tableType": "Materialized"}) == []
    assert found(prefix={"tableType": "mat"}) == ["b"]
    assert found(wildcard={"tableType": "*view"}) == ["a", "b"]
    assert found(wildcard={"tableType": "v*"}) == ["a"]
    assert found(fuzzy={"tableType": "veiw"}) == ["a"]
    assert found(term={"serviceType": "Big"}) == []
    assert found(term={"serviceType": "bigquery"}) == ["a"]
    assert found(term={"columns.dataType": "int"}) == ["a"]
    assert catalog.names("columns.dataType:int*") == ["a", "b"]
    assert catalog.names("entityStatus:draft AND entityType:DATACONTRACT") == ["c"]
    assert catalog.names("entityType:data") == []


def _column(data_type):
    return {"name": "x", "dataType": data_type}


MIDNIGHTS = {
    "west": "2023-12-31T19:00:00-05:00",
    "utc": "2024-01-01T00:00:00Z",
    "east": "2024-01-01T02:00:00+02:00",
    "bare": "2024-01-01T00:00:00",
}
"""The same moment, as contracts may have it recorded."""


@pytest.fixture
def contracts(catalog, entity):
    dates = {
        **MIDNIGHTS,
        "before": "2024-01-01T00:59:59+01:00",
        "after": "2023-12-31T19:00:01-05:00",
    }
    return catalog.add(
        *(entity(name, "dataContract", effectiveFrom=date) for name, date in dates.items()),
        entity("never", "dataContract"),
    )


@pytest.mark.parametrize("form", ["2024-01-01", "2024-01-01T01:00+01:00", "1704067200000"])
def test_dates_are_compared_as_moments_whatever_their_offsets(contracts, form):
    same, name = set(MIDNIGHTS), "effectiveFrom"
    assert contracts.found(f'{name}:<"{form}"') == {"before"}
    assert contracts.found(f'{name}:>="{form}"') == {*same, "after"}
    first = {"after"} if form == "1704067200000" else set()
    assert contracts.found(f'{name}:"{form}"') == same | ({"after"} - first)
    given = json.dumps({"range": {name: {"lte": form}}}).encode()
    assert contracts.found(query_filter=given) == {*same, "before"} | ({"after"} - first)
    assert contracts.found(f"NOT _exists_:{name}") == {"never"}


@pytest.mark.parametrize("form", ["2024-01-01T00:00:00.0005Z", "1704067200000.5"])
def test_time_between_two_milliseconds_is_after_the_first_of_them(contracts, form):
    upto, name = {*MIDNIGHTS, "before"}, "effectiveFrom"
    found = {
        side: contracts.found(query_filter=json.dumps({"range": {name: {side: form}}}).encode())
        for side in ("gt", "gte", "lt", "lte")
    }
    assert found == {"gt": {"after"}, "gte": {"after"}, "lt": upto, "lte": upto}
    assert contracts.found(f'{name}:["{form}" TO "{form}"]') == set()
    assert contracts.found(f'{name}:"{form}"') == set(MIDNIGHTS)


def test_dates_are_sorted_by_as_moments(contracts):
    order = contracts.names(sort_field="effectiveFrom")
    assert order == ["before", *sorted(MIDNIGHTS), "after", "never"]
    order = contracts.names(sort_field="effectiveFrom", sort_order="desc")
    assert order == ["after", *sorted(MIDNIGHTS), "before", "never"]


def test_dates_of_one_object_are_compared_as_moments(catalog, entity):
    def tag(name, applied):
        return {"tagFQN": name, "appliedAt": applied}

    catalog.add(
        entity("a", tags=[tag("X", "2024-01-01T00:30:00+01:00"), tag("Y", "2024-06-01T00:00:00Z")]),
        entity("b", tags=[tag("Y", "2023-12-31T23:00:00-02:00"), tag("X", "2024-06-01T00:00:00Z")]),
    )
    both = [{"term": {"tags.tagFQN": "X"}}, {"range": {"tags.appliedAt": {"lt": "2024-01-01"}}}]
    clause = {"nested": {"path": "tags", "query": {"bool": {"must": both}}}}
    assert catalog.names(query_filter=json.dumps(clause).encode()) == ["a"]


@pytest.mark.parametrize("minimum", [0, "0", "25%", -3, "2<0%"])
def test_minimum_that_comes_to_none_asks_for_one(shop, minimum):
    words = {"query": "customer nothing nowhere", "minimum_should_match": minimum}
    should = [{"term": {"name.keyword": name}} for name in ("dim_customer", "x", "y")]
    for clause in (
        {"match": {"name": words}},
        {"multi_match": {**words, "fields": ["name"]}},
        {"bool": {"should": should, "minimum_should_match": minimum}},
    ):
        names = shop.found(query_filter=json.dumps(clause).encode())
        assert names <= {"dim_customer", "customerOrders"}
        assert "dim_customer" in names
    beside = {
        "bool": {"must": {"match_all": {}}, "should": should, "minimum_should_match": minimum}
    }
    assert shop.found(query_filter=json.dumps(beside).encode()) == shop.found()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"q": "a AND"}, "q: something is expected after AND at column 6"),
        ({"index": "tables"}, "index must be all or one of "),
        ({"index": "all,"}, "index must be all or one of "),
        ({"size": -1}, "size must be from 0 to 1000, got -1"),
        ({"size": 1_001}, "size must be from 0 to 1000, got 1001"),
        ({"from_": -1}, "from must not be negative, got -1"),
        ({"from_": 9_991}, "from + size must not exceed 10000, got 9991 + 10: the lists"),
        ({"from_": 2**31}, "from + size must not exceed 10000"),
        ({"sort_field": "columns"}, "sortField must be one of name, "),
        ({"sort_order": "up"}, "sortOrder must be asc or desc, got 'up'"),
        ({"include_source_fields": ("a..b",)}, "includeSourceFields must be dotted field names"),
        (
            {"include_source_fields": ("name", "columns.nmae")},
            "includeSourceFields: no kind has a field 'columns.nmae'; near it: columns.name",
        ),
        ({"include_source_fields": ("columns.*",)}, "no kind has a field 'columns.*'"),
        ({"include_source_fields": ("name.keyword",)}, "'name.keyword' is searched, but stands in"),
        (
            {"exclude_source_fields": ("colums",)},
            "excludeSourceFields: no kind has a field 'colums'; near it: columns, ",
        ),
        ({"q": "entityStatuss:Draft"}, "q: no kind has a field 'entityStatuss'; near it: entityS"),
        (
            {"query_filter": b'{"term": {"entityStatuss": "Draft"}}'},
            "queryFilter: no kind has a field 'entityStatuss'; near it: entityStatus, ",
        ),
        (
            {"post_filter": b'{"exists": {"field": "ownrs"}}'},
            "postFilter: no kind has a field 'ownrs'; near it: owners, ",
        ),
        ({"sort_field": "updatedat"}, "sortField must be one of name, displayName, "),
        ({"query_filter": b'{"script": {}}'}, "queryFilter: unknown clause 'script'"),
        ({"post_filter": b"nonsense"}, "postFilter is not valid JSON"),
        ({"search_after": ("a", "b", "c")}, "search_after needs the sortField"),
        (
            {"search_after": ("a", "b", "c"), "sort_field": "name", "from_": 1},
            "from must be 0 beside search_after",
        ),
    ],
)
def test_search_refuses_wrong_parameters_by_name(shop, parameters, message):
    with pytest.raises(InvalidInput) as raised:
        shop.respond(**parameters)
    assert message in raised.value.message


def test_documents_of_an_answer_are_bounded(shop):
    held = {"documents": 0}

    def read_large(ids):
        held["documents"] += 1
        return {ids[0]: b'{"name":"%b"}' % (b"a" * 20_000_000)}

    with pytest.raises(
        InvalidInput, match=r"all hits, .* more than 64 MB: ask for fewer with size"
    ):
        search(SearchRequest(q=""), shop.engine, read_large)
    body = search(SearchRequest(q="", fetch_source=False), shop.engine, read_large).body
    assert len(json.loads(body)["hits"]["hits"]) == 5
    assert held["documents"] == 4  # the fourth is the one that goes beyond


def test_documents_above_the_hits_count_too(catalog, entity):
    parents = [entity(f"s{n}", "databaseSchema", fqn=f"s{n}") for n in range(5)]
    catalog.add(*(entity(f"t{n}", databaseSchema=_ref(each)) for n, each in enumerate(parents)))
    large = {each.id: b'{"name":"%b"}' % (b"a" * 20_000_000) for each in parents}
    read = []

    def read_sources(ids):
        read.append(ids[0])
        return catalog.read_sources(ids) or {ids[0]: large[ids[0]]}

    request = SearchRequest(q="*", get_hierarchy=True, fetch_source=False)
    with pytest.raises(InvalidInput, match="with getHierarchy also of what they stand below"):
        search(request, catalog.engine, read_sources)
    assert len(read) == 1 + 4  # the tables, and the fourth of the schemas goes beyond


def test_an_answer_without_time_for_highlights_says_so(shop):
    request = SearchRequest(q="name:orders")
    ticks = iter(range(99))  # a second for each look at the clock
    late = search(request, shop.engine, shop.read_sources, clock=lambda: next(ticks))
    whole = search(request, shop.engine, shop.read_sources)
    hits, marked = (json.loads(each.body)["hits"]["hits"] for each in (late, whole))
    assert all("highlight" in hit for hit in marked)
    assert hits == [{k: v for k, v in hit.items() if k != "highlight"} for hit in marked] != []
    assert json.loads(late.body)["timed_out"]
    assert not late.complete
    assert not json.loads(whole.body)["timed_out"]
    assert whole.complete


@pytest.mark.parametrize(
    ("q", "marked"),
    [
        ("हिन्दी", "[हिन्दी] तालिका"),
        ("description:हि*", "[हिन्दी] तालिका"),
        ("description:ह*", "[हिन्दी] तालिका"),
        ('"हिन्दी तालिका"', "[हिन्दी तालिका]"),
        ("description:न*", None),
        ("description:दी", None),
    ],
)
def test_words_with_vowel_signs_are_found_and_marked_whole(catalog, entity, q, marked):
    catalog.add(entity("t", description="हिन्दी तालिका"), entity("other", description="ग्राहक"))
    found = highlighted(catalog, q)
    assert found == ({} if marked is None else {"t": {"description": [marked]}})


def highlighted(shop, q, **parameters):
    """Name of each hit -> its highlights, tags as brackets."""
    hits = shop.respond(q, **parameters)["hits"]["hits"]
    return {
        shop.entities[hit["_id"]].name: {
            path: [piece.replace(BEGIN, "[").replace(END, "]") for piece in pieces]
            for path, pieces in hit.get("highlight", {}).items()
        }
        for hit in hits
    }


def test_highlights_come_with_documents_and_their_visible_parts_alone(shop):
    assert highlighted(shop, "stream") == {"orders": {"description": ["The order [stream]"]}}
    cut = highlighted(shop, "stream", include_source_fields=("name",))
    assert cut == {"orders": {"description": ["The order [stream]"]}}
    assert highlighted(shop, "stream", fetch_source=False) == {"orders": {}}
    assert highlighted(shop, "*")["orders"] == {}
    by_filter = {"query_filter": b'{"match": {"description": "stream"}}'}
    assert highlighted(shop, "", **by_filter) == {"orders": {}}


def test_highlights_show_no_withheld_field(shop):
    request = SearchRequest(q="customer")

    def found(withheld):
        visibility = Visibility(frozenset(KINDS), withheld)
        made = search(request, shop.engine, shop.read_sources, visibility)
        hits = json.loads(made.body)["hits"]["hits"]
        return {path for hit in hits for path in hit.get("highlight", {})}

    assert {"name", "columns.name", "description"} <= found({})
    hidden = {"table": Withheld("table", frozenset({"columns"}))}
    assert found(hidden) == found({}) - {"columns.name"}


def test_now_is_the_time_of_the_search_and_its_answer_does_not_last(shop):
    def found(q, at, **parameters):
        now = Now(lambda: at / 1000)
        request = SearchRequest(q=f"name:dim_customer AND {q}", now=now, **parameters)
        answer = search(request, shop.engine, shop.read_sources)
        return json.loads(answer.body)["hits"]["total"]["value"], answer.complete

    day, changed = 86_400_000, 1_704_067_200_000
    assert found("updatedAt:<now-1d", changed + day) == (0, False)
    assert found("updatedAt:<now-1d", changed + day + 1) == (1, False)
    in_json = b'{"range": {"updatedAt": {"lt": "\\u006eow-1d/d", "time_zone": "Z"}}}'
    assert found("*", changed + 2 * day, query_filter=in_json) == (1, False)
    assert found("*", changed + 2 * day - 1, post_filter=in_json) == (0, False)
    assert found("updatedAt:<2024-01-02", changed) == (1, True)
    assert found("now", changed) == (0, True)
