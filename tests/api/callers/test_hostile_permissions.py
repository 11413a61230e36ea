"""The hostile tests 14 to 19 and 27: what a role may not do or see, it cannot find out."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from api.callers.permissions import Action
from api.callers.policies import Rule
from api.callers.tokens.issuers import Issuer
from api.callers.tokens.minting import mint
from domain.kinds.registry import KINDS
from tests.api.conftest import SECRET, Client, running, running_under
from tests.api.edge.test_access import handlers
from tests.depth import first_alone

READS = (Action.LIST, Action.VIEW, Action.SEARCH)
SEEN = (
    ("table", "tables"),
    ("dataContract", "dataContracts"),
    ("databaseSchema", "databaseSchemas"),
    ("database", "databases"),
    ("databaseService", "services/databaseServices"),
    ("user", "users"),
    ("glossary", "glossaries"),
)
HIDDEN = ("owners", "columns.tags", "extension", "votes")
QUERY = "/v1/search/query"
BY_FIELD = "/v1/search/fieldQuery"


def random_rules(number: int) -> list[Rule]:
    """One role's rules, the same for the same number."""
    dice = random.Random(number)
    kinds = [kind for kind, _ in SEEN]
    return [
        Rule(
            f"r{number}",
            tuple(dice.sample(READS, dice.choice((1, 3, 3)))),
            tuple(dice.sample(kinds, dice.randint(1, len(kinds)))),
        )
        for _ in range(dice.randint(1, 3))
    ]


def toml(rules: list[Rule]) -> str:
    """A file of policies; lists of texts are written in TOML as they are in JSON."""
    return "\n".join(
        f"[[rule]]\nrole = {json.dumps(rule.role)}\nallow = {json.dumps(rule.allow)}\n"
        f"kinds = {json.dumps(rule.kinds)}\nwithhold = {json.dumps(rule.withhold)}\n"
        for rule in rules
    )


NAMED = [
    Rule("admin", tuple(Action)),
    Rule("searcher", (Action.SEARCH,)),
    Rule("lister", (Action.LIST, Action.VIEW)),
    Rule("contracts", READS, ("dataContract",)),
    Rule("tables", READS, ("table", "database")),
    Rule("blind", (*READS, Action.EDIT, Action.CREATE)),
    Rule("blind", kinds=("*",), withhold=HIDDEN),
    Rule("mute", READS, withhold=("description", "displayName")),
    Rule("changer", (*READS, Action.EDIT)),
    Rule("dropper", (*READS, Action.DELETE), ("databaseSchema",)),
    Rule("auditor", (Action.AUDIT,)),
    Rule("cleaner", (Action.CREATE, Action.EDIT, Action.DELETE), ("table",)),
    Rule("masked", READS, withhold=HIDDEN),
    Rule("masking", (Action.CREATE, Action.EDIT, Action.DELETE), ("table",)),
    Rule("masking", kinds=("table",), withhold=("description",)),
]
RANDOM = range(200)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    directory = tmp_path_factory.mktemp("shop")
    rules = [*NAMED, *(rule for n in RANDOM for rule in random_rules(n))]
    with running_under(directory, toml(rules)) as client:
        client.schema()
        ann = client.create("users", name="ann", email="ann@example.org")
        client.create("classifications", name="PII", description="x")
        client.create("tags", name="Secret", classification="PII", description="x")
        label = {"tagFQN": "PII.Secret", "source": "Classification", "labelType": "Manual"}
        client.table(
            "orders",
            description="the quixotic orders",
            displayName="Bestellungen",
            owners=[{"id": ann["id"], "type": "user"}],
            columns=[{"name": "id", "dataType": "INT", "tags": [{**label, "state": "Confirmed"}]}],
            extension={"cost": "12", "tags": [{"tagFQN": "PII.Secret"}]},
        )
        for number in range(3):
            entity = {"id": client.table(f"t{number}")["id"], "type": "table"}
            client.create("dataContracts", name=f"c{number}", entity=entity)
        client.create("glossaries", name="words", description="x")
        client.search_until(lambda a: a["hits"]["total"]["value"] == 14, q="*")
        yield client


def asked(client: Client, path: str, role: str, **params: Any) -> tuple[int, Any]:
    return client.ask("GET", path, role=role, params=params)


@pytest.mark.parametrize("bad", ["", "limit=x", "q=(", "fields=no", "before=a&after=b"])
def test_hostile_14_without_permission_nothing_is_parsed(shop: Client, bad: str) -> None:
    assert shop.ask("GET", f"/v1/dataContracts?{bad}", role="searcher")[0] == 403
    assert shop.ask("GET", f"/v1/dataContracts/{bad or 'x'}", role="searcher")[0] == 403
    assert shop.ask("GET", f"{QUERY}?{bad}", role="lister")[0] == 403
    assert shop.ask("POST", "/v1/tables", role="lister", content=b"{")[0] == 403


def test_hostile_14_index_of_a_kind_that_may_not_be_searched_is_403(shop: Client) -> None:
    status, body = asked(shop, QUERY, "contracts", q="*", index="table_search_index")
    assert (status, body["message"]) == (403, "you have no permission to search table")
    mixed = "data_contract_search_index,user_search_index"
    assert asked(shop, QUERY, "contracts", q="*", index=mixed)[0] == 403
    assert asked(shop, QUERY, "contracts", q="*", index="data_contract_search_index")[0] == 200
    assert asked(shop, QUERY, "contracts", q="*", index="nonsense")[0] == 400


def test_hostile_14_alias_shows_the_kinds_that_may_be_searched(shop: Client) -> None:
    def found(index: str) -> set[str]:
        status, body = asked(shop, QUERY, "tables", q="*", index=index)
        assert status == 200
        return {hit["_source"]["entityType"] for hit in body["hits"]["hits"]}

    assert found("all") == found("dataAsset") == found("databaseService") == {"table", "database"}
    assert found("databaseSchema") == {"table"}
    for index in ("table", "database", "dataAsset,data_contract_search_index"):
        assert asked(shop, QUERY, "contracts", q="*", index=index)[0] == 403
    status, body = asked(shop, QUERY, "tables", q="*", index="glossary")
    assert (status, body["message"]) == (
        403,
        "you have no permission to search glossary or glossaryTerm",
    )
    by_name = {"fieldName": "name", "fieldValue": "*"}
    assert asked(shop, BY_FIELD, "contracts", **by_name)[0] == 403
    assert asked(shop, BY_FIELD, "lister", **by_name)[0] == 403
    assert asked(shop, BY_FIELD, "tables", **by_name)[0] == 200


def test_hostile_15_filter_by_what_may_not_be_seen_is_like_one_by_nothing(shop: Client) -> None:
    table = shop.get("/v1/tables/name/service.database.schema.orders")["id"]
    schema = shop.get("/v1/databaseSchemas")["data"][0]["id"]
    empty = {"data": [], "paging": {"total": 0}}

    for entity in (table, schema, str(uuid4())):
        assert asked(shop, "/v1/dataContracts", "contracts", entity=entity) == (200, empty)
        missing = asked(shop, f"/v1/dataContracts/{entity}", "contracts")
        assert missing[0] == 404
        assert missing[1]["message"] == f"dataContract instance for {entity} not found"


@pytest.mark.parametrize("numbers", first_alone(RANDOM[:25], RANDOM[25:]))
def test_hostile_16_list_search_and_get_agree_under_random_policies(
    shop: Client, numbers: range
) -> None:
    ids = {
        kind: {item["id"] for item in shop.get(f"/v1/{path}", limit=100)["data"]}
        for kind, path in SEEN
    }
    refused = 0
    for number in numbers:
        role = f"r{number}"
        granted = {
            (action, kind)
            for rule in random_rules(number)
            for action in rule.allow
            for kind in rule.kinds
        }
        searchable = {kind for action, kind in granted if action is Action.SEARCH}
        status, found = asked(shop, QUERY, role, q="*", size=1000, sortField="name")
        assert status == (200 if searchable else 403)
        hits = found["hits"]["hits"] if searchable else []
        assert len(hits) == (found["hits"]["total"]["value"] if searchable else 0)
        for kind, path in SEEN:
            of_kind = {hit["_id"] for hit in hits if hit["_index"] == KINDS[kind].index}
            assert of_kind == (ids[kind] if kind in searchable else set())
            status, page = asked(shop, f"/v1/{path}", role, limit=100)
            if (Action.LIST, kind) in granted:
                assert {item["id"] for item in page["data"]} == ids[kind]
                assert page["paging"]["total"] == len(ids[kind])
            else:
                assert status == 403
                refused += 1
            one = min(ids[kind])
            may_view = (Action.VIEW, kind) in granted
            assert asked(shop, f"/v1/{path}/{one}", role)[0] == (200 if may_view else 403)
        assert {hit["_id"] for hit in hits} == set().union(*(ids[kind] for kind in searchable))
    assert len(numbers) / 2 < refused < len(numbers) * (len(SEEN) - 0.5)


def secrets(client: Client) -> list[str]:
    """Return the texts that nobody from whom HIDDEN is withheld may read."""
    ann = client.get("/v1/users")["data"][0]["id"]
    return [ann, "PII.Secret", '"cost"', '"owners"', '"extension"']


def test_hostile_17_withheld_fields_are_in_no_answer(shop: Client) -> None:
    orders = shop.get("/v1/tables/name/service.database.schema.orders", fields="*")
    one = f"/v1/tables/{orders['id']}"
    answers = [
        *("/v1/tables?fields=*", "/v1/tables?fields=columns", one, f"{one}?fields=*"),
        "/v1/tables?fields=*&limit=1000",
        f"/v1/tables/name/{orders['fullyQualifiedName']}?fields=*",
        *(f"{one}/versions", f"{one}/versions/0.1"),
        *(f"{QUERY}?q=orders", f"{QUERY}?q=*&index=table_search_index&getHierarchy=true"),
        f"{QUERY}?q=orders&includeSourceFields=*&includeSourceFields=columns",
        f"{BY_FIELD}?fieldName=name&fieldValue=ord*",
    ]
    for path in answers:
        seen = shop.request("GET", path, role="admin")
        blind = shop.request("GET", path, role="blind")
        assert (seen.status_code, blind.status_code) == (200, 200), path
        assert [each for each in secrets(shop) if each in blind.text] == [], path
        assert blind.json().keys() <= seen.json().keys()
    assert "PII.Secret" in shop.request("GET", f"{one}?fields=*").text
    patch = [{"op": "add", "path": "/sourceUrl", "value": "https://example.org/x"}]
    wrote = shop.request("PATCH", one, role="blind", json=patch)
    assert wrote.status_code == 200
    assert [each for each in secrets(shop) if each in wrote.text] == []
    assert shop.get(one, fields="*")["owners"] == orders["owners"]


def test_hostile_17_streams_are_cut_too(shop: Client) -> None:
    path = "/v1/dataContracts?limit=5000&fields=*"
    seen, blind = (shop.request("GET", path, role=role).json() for role in ("admin", "blind"))

    cut = [{k: v for k, v in item.items() if k not in HIDDEN} for item in seen["data"]]
    assert blind == {**seen, "data": cut}
    assert cut != seen["data"]


@pytest.mark.parametrize(
    "query",
    [
        "/v1/tables?fields=owners",
        "/v1/tables?fields=tags,owner",
        "/v1/tables?fields=extension",
        f"{QUERY}?q=*&includeSourceFields=owners.name",
        f"{QUERY}?q=*&includeSourceFields=columns.tags",
        f"{QUERY}?q=owners.name:ann",
        f"{QUERY}?q=ownerName:ann",
        f"{QUERY}?q=owners.id:x",
        f"{QUERY}?q=owners.id:(x OR y)",
        f"{QUERY}?q=orders AND NOT votes.upVotes:0",
        f"{QUERY}?q=totalVotes:0",
        f"{QUERY}?q=tags.tagFQN:PII.Secret",
        f"{QUERY}?q=_exists_:owners",
        f"{QUERY}?q=name:orders OR (NOT extension.cost:>1)",
        f'{QUERY}?q=*&queryFilter={{"term":{{"owners.name":"ann"}}}}',
        f'{QUERY}?q=*&postFilter={{"bool":{{"must_not":[{{"exists":{{"field":"owners"}}}}]}}}}',
        f'{QUERY}?q=*&queryFilter={{"query_string":{{"query":"owners.name:a*"}}}}',
        f'{QUERY}?q=*&queryFilter={{"multi_match":{{"query":"a","fields":["tags.tagFQN^2"]}}}}',
        f'{QUERY}?q=*&queryFilter={{"nested":{{"path":"owners","query":{{"match_all":{{}}}}}}}}',
        f"{BY_FIELD}?fieldName=owners.name&fieldValue=ann",
        f"{BY_FIELD}?fieldName=ownerName&fieldValue=a*",
        f"{BY_FIELD}?fieldName=tags.tagFQN.keyword&fieldValue=*",
        f"{BY_FIELD}?fieldName=totalVotes&fieldValue=0",
    ],
)
def test_hostile_17_question_about_a_withheld_field_is_403(shop: Client, query: str) -> None:
    status, body = shop.ask("GET", query, role="blind")

    assert (status, body["errorType"]) == (403, "FORBIDDEN"), body
    assert "is withheld from your roles" in body["message"]
    assert shop.ask("GET", query, role="admin")[0] == 200


@pytest.mark.parametrize(
    ("path", "operations"),
    [
        ("patch", [{"op": "test", "path": "/owners/0/name", "value": "ann"}]),
        ("patch", [{"op": "copy", "from": "/extension/cost", "path": "/description"}]),
        ("patch", [{"op": "replace", "path": "/columns", "value": []}]),
        ("put", {"owners": ["ann"]}),
        ("put", {"owner": "ann"}),
        ("put", {"columns": [{"name": "id", "dataType": "INT"}]}),
    ],
)
def test_hostile_17_write_that_touches_a_withheld_field_is_403(
    shop: Client, path: str, operations: Any
) -> None:
    orders = shop.get("/v1/tables/name/service.database.schema.orders", fields="*")
    if path == "put":
        body = {"name": "orders", "databaseSchema": "service.database.schema", **operations}
        answer = shop.ask("PUT", "/v1/tables", role="blind", json=body)
    else:
        answer = shop.ask("PATCH", f"/v1/tables/{orders['id']}", role="blind", json=operations)

    assert answer[0] == 403, answer
    assert shop.get(f"/v1/tables/{orders['id']}", fields="*") == orders


WRITES = [
    ("DELETE", "{id}", None),
    ("DELETE", "{id}", None),
    ("PUT", "restore", {"id": "{id}"}),
    ("PATCH", "{id}", [{"op": "add", "path": "/retentionPeriod", "value": "P1D"}]),
    ("PATCH", "{id}", []),
    ("PUT", "", {"name": "shy", "databaseSchema": "service.database.schema", "sourceUrl": "a:b"}),
    ("DELETE", "{id}?hardDelete=true", None),
]
"""Method, path below the tables' and body of writes that follow each other."""


def answers_of_writes(client: Client, roles: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return the answers to each write to a table with much in it, for a caller with such roles."""
    owner = client.get("/v1/users")["data"][0]["id"]
    made = client.table(
        "shy", description="d", owners=[{"id": owner, "type": "user"}], extension={"cost": 1}
    )
    found = []
    signed = mint(Issuer(secret=SECRET), "somebody", roles, 600)
    for method, path, body in WRITES:
        content = None if body is None else json.dumps(body).replace("{id}", made["id"])
        response = client.http.request(
            method,
            f"/v1/tables/{path.format(id=made['id'])}".removesuffix("/"),
            content=content,
            headers={"Authorization": f"Bearer {signed}"},
        )
        assert response.status_code == 200, response.text
        found.append(response.json())
    return found


def test_hostile_17_answers_of_writes_show_what_view_shows(shop: Client) -> None:
    for answer in answers_of_writes(shop, ("masked", "cleaner")):
        assert {"owners", "extension"}.isdisjoint(answer), answer
        assert (answer["name"], answer["description"]) == ("shy", "d")
        assert [column["name"] for column in answer["columns"]] == ["id"]


def test_hostile_17_answers_of_writes_withhold_under_their_own_action_too(shop: Client) -> None:
    for answer in answers_of_writes(shop, ("tables", "masking")):
        assert "description" not in answer
        assert answer["extension"] == {"cost": 1}


def test_hostile_17_answers_of_writes_without_view_only_tell_which_entity(shop: Client) -> None:
    shown = {"id", "name", "fullyQualifiedName", "version"}
    answers = answers_of_writes(shop, ("cleaner",))
    assert [answer.keys() - {"deleted"} for answer in answers] == [shown] * len(WRITES)
    assert [answer.get("deleted") for answer in answers[:3]] == [True, True, None]
    body = {"name": "own", "databaseSchema": "service.database.schema", "columns": []}
    status, made = shop.ask("POST", "/v1/tables", role="cleaner", json=body)
    assert (status, made.keys()) == (201, shown)
    shop.request("DELETE", f"/v1/tables/{made['id']}?hardDelete=true")


def test_hostile_17_plain_text_does_not_look_into_withheld_fields(shop: Client) -> None:
    def found(role: str, text: str) -> list[str]:
        status, answer = asked(shop, QUERY, role, q=text, index="table_search_index")
        assert status == 200
        return [hit["_source"]["name"] for hit in answer["hits"]["hits"]]

    for text in ("quixotic", "Bestellungen", "quix*", "quixotik~1", '"the quixotic"'):
        assert found("admin", text) == ["orders"], text
        assert found("mute", text) == [], text
    for text in ("orders", "order*", "+orders -t1", '"orders"'):
        assert found("mute", text) == ["orders"], text
    # Tags of columns are indexed with those of tables, and neither is looked into.
    assert found("admin", "Secret") == ["orders"]
    assert found("blind", "Secret") == []
    assert found("blind", "quixotic") == ["orders"]
    everywhere = asked(shop, QUERY, "mute", q="quixotic orders")
    assert everywhere[0] == 200


def test_hostile_17_ancestors_are_those_of_visible_kinds(shop: Client) -> None:
    params = {"q": "name:orders", "index": "table_search_index", "getHierarchy": "true"}
    (every,) = asked(shop, QUERY, "admin", **params)[1]["hits"]["hits"]
    (some,) = asked(shop, QUERY, "tables", **params)[1]["hits"]["hits"]

    kinds = [each["type"] for each in every["hierarchy"]]
    assert kinds == ["databaseService", "database", "databaseSchema"]
    assert [each["type"] for each in some["hierarchy"]] == ["database"]


def test_hostile_18_revoked_permission_counts_at_once_and_inside_a_cursor(tmp_path: Path) -> None:
    file = tmp_path / "policies.toml"
    rules = [Rule("admin", tuple(Action)), Rule("reader", READS)]
    file.write_text(toml(rules))
    with running(tmp_path, policies=str(file)) as client:
        for number in range(3):
            client.create("glossaries", name=f"g{number}", description="x")
        first = asked(client, "/v1/glossaries", "reader", limit=1)[1]
        after = {"limit": 1, "after": first["paging"]["after"], "fields": "owners"}
        assert asked(client, "/v1/glossaries", "reader", **after)[0] == 200

        file.write_text(toml([rules[0], Rule("reader", READS, withhold=("owners",))]))
        assert asked(client, "/v1/glossaries", "reader", **after)[0] == 403
        assert asked(client, "/v1/glossaries", "reader", limit=1)[0] == 200

        file.write_text(toml([rules[0]]))
        assert asked(client, "/v1/glossaries", "reader", limit=1)[0] == 403
        assert asked(client, "/v1/glossaries", "reader", **after)[0] == 403
        assert asked(client, "/v1/glossaries", "admin", **after)[0] == 200


@pytest.mark.parametrize("path", ["/v1/system/projections", "/metrics"])
def test_hostile_19_operators_routes_need_the_operators_role(shop: Client, path: str) -> None:
    for role in ("searcher", "lister", "blind", "auditor", "nobody"):
        assert shop.ask("GET", path, role=role)[0] == 403
    assert shop.request("GET", path, role="admin").status_code == 200
    assert shop.http.get(path).status_code == 401


def test_hostile_19_no_route_answers_a_caller_without_any_permission(shop: Client) -> None:
    public = 0
    for path, handler in handlers(shop):
        if handler.opt.get("page"):  # tests/api/pages/test_every_page.py asks for each
            continue
        for method in handler.http_methods - {"OPTIONS"}:
            concrete = path.replace("{fqn:path}", "x").replace("{asset:str}", "docs.js")
            concrete = concrete.replace("{entity_id:str}", str(uuid4())).replace(
                "{version:str}", "0.1"
            )
            concrete = concrete.replace("{at:int}", "1")
            status = shop.request(method, concrete, role="nobody").status_code
            open_to_all = handler.opt["permission"] == "public"
            assert status == (200 if open_to_all else 403), (method, path)
            public += open_to_all
    assert public == 12


def test_changing_needs_creating_too_where_it_may_create(shop: Client) -> None:
    body = {"name": "fresh", "description": "x"}
    assert shop.ask("PUT", "/v1/glossaries", role="changer", json=body)[0] == 403
    assert shop.ask("POST", "/v1/glossaries", role="changer", json=body)[0] == 403


def test_deleting_everything_below_needs_permission_for_all_of_it(shop: Client) -> None:
    schema = shop.get("/v1/databaseSchemas")["data"][0]["id"]
    path = f"/v1/databaseSchemas/{schema}"

    status, body = shop.ask("DELETE", f"{path}?recursive=true", role="dropper")
    assert (status, body["message"]) == (
        403,
        "recursive: you have no permission to delete dataContract",
    )
    status, body = shop.ask("DELETE", path, role="dropper")
    assert (status, body["message"]) == (
        400,
        "databaseSchema 'service.database.schema' is not empty:"
        " recursive=true deletes what is below it too",
    )
    assert shop.ask("GET", path)[0] == 200


def test_hostile_27_cursor_is_a_place_and_no_permission(shop: Client) -> None:
    page = shop.get("/v1/tables", limit=1)["paging"]
    after = page["after"]
    bad = [
        {"after": after, "before": after},
        {"after": after[:-3]},
        {"after": after[:10] + ("A" if after[10] != "A" else "B") + after[11:]},
        {"after": "A" * 10_000},
        {"after": after, "include": "all"},
        {"before": after},
    ]
    for params in bad:
        assert shop.ask("GET", "/v1/tables", params=params)[0] == 400, params
    assert shop.ask("GET", "/v1/dataContracts", params={"after": after})[0] == 400
    assert asked(shop, "/v1/tables", "contracts", after=after)[0] == 403
    assert asked(shop, "/v1/tables", "tables", after=after)[0] == 200
