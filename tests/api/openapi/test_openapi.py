"""The OpenAPI document against the routes, and the page that shows it."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from jsonschema_rs import Draft202012Validator
from litestar import Litestar
from litestar.routes import HTTPRoute

from api.app import create_app
from api.callers.permissions import PUBLIC
from api.callers.tokens.verifier import open_verifier
from api.declaring.signatures import route
from api.openapi import docs
from api.openapi.document import document, operation_of
from api.services import make_services
from api.settings import Settings
from api.telemetry.logs import LogWriter
from api.telemetry.metrics import Metrics
from api.telemetry.shared_counts import SharedCounts
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import KINDS, kinds_above
from projections.wiring.stores import open_stores

REMOTE = re.compile(rb"(?:https?:)?//[a-z0-9]", re.IGNORECASE)
ID = "01890000-0000-7000-8000-000000000000"
TEXTS = ("query-text", "page-cursor", "query-filter", "name-regex", "term-regex", "aggregations")
"""Formats of texts, which `null` may be one of."""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Litestar]:
    directory = tmp_path_factory.mktemp("stores")
    stores = open_stores(directory)
    settings = Settings(data=str(directory))
    services, metrics = make_services(settings, stores), Metrics(SharedCounts.made(1))
    made = create_app(services, open_verifier(settings), LogWriter(2, lambda: None), metrics)
    asyncio.run(made.register_rest())
    yield made
    stores.close()


@pytest.fixture(scope="module")
def openapi(app: Litestar) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(docs.encoded(app))
    return found


def operations(openapi: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, item in openapi["paths"].items():
        for method, operation in item.items():
            yield method, path, operation


def permissions(app: Litestar) -> dict[tuple[str, str], Any]:
    """(method, path as the document shows it) -> permission, of each route but those of pages."""
    found = {}
    for each in app.routes:
        if isinstance(each, HTTPRoute) and not each.path_format.startswith("/docs"):
            for method, (handler, _) in each.route_handler_map.items():
                # A handler stands for OPTIONS too, which the access middleware answers. Pages are
                # no operations: tests/api/pages/test_every_page.py goes through them.
                if "permission" not in handler.opt or method == "OPTIONS" or "page" in handler.opt:
                    continue
                key = str(method).lower(), operation_of(handler).path or each.path_format
                assert key not in found
                found[key] = handler.opt["permission"]
    return found


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for inner in value.values():
            yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


def validator(openapi: dict[str, Any], schema: dict[str, Any]) -> Draft202012Validator:
    return Draft202012Validator({**schema, "components": openapi["components"]})


def check(openapi: dict[str, Any], method: str, path: str, response: Any) -> None:
    """Hold a response to what the document says of its status."""
    declared = openapi["paths"][path][method]["responses"][str(response.status_code)]
    for name in references({key: declared[key] for key in declared if key == "$ref"}):
        declared = openapi["components"]["responses"][name.rpartition("/")[2]]
    schema = declared["content"]["application/json"]["schema"]
    errors = [error.message for error in validator(openapi, schema).iter_errors(response.json())]
    assert errors == [], (method, path, response.text)
    for header in declared.get("headers", {}):
        if openapi["components"]["headers"][header].get("required"):
            assert header in response.headers


OF_EVERY_KIND = {
    *((method, path) for method in ("get", "post", "put") for path in ("",)),
    *((method, path) for method in ("get", "patch", "delete") for path in ("/{entity_id}",)),
    *((method, path) for method in ("get", "patch", "delete") for path in ("/name/{fqn}",)),
    *(("get", f"/{{entity_id}}/versions{one}") for one in ("", "/{version}")),
    *(("put", "/bulk"), ("put", "/restore"), ("delete", "/async/{entity_id}")),
    ("get", "/{entity_id}/diff"),
}
CONFIG = "/{entity_id}/tableProfilerConfig"
OF_ONE_KIND = {
    "table": {
        *(("put", "/{entity_id}/dataModel"), ("put", CONFIG), ("get", CONFIG), ("delete", CONFIG)),
        *(("get", "/{entity_id}/columns"), ("get", "/name/{fqn}/columns")),
        *((method, "/{table}/tableProfile") for method in ("put", "get")),
        *((method, "/{table}/sampleData") for method in ("put", "get", "delete")),
        *(("get", f"/{{table}}/{profile}Profile") for profile in ("column", "system")),
        ("get", "/{table}/tableProfile/latest"),
        ("delete", "/{table}/{profile_type}/{at}/profile"),
        ("put", "/{table}/joins"),
    },
    "query": {("put", f"/{{entity_id}}/{key}") for key in ("usage", "users", "usedBy")},
    "pipeline": {
        *((method, "/{pipeline}/status") for method in ("put", "get")),
        *(("put", "/{pipeline}/status/bulk"), ("delete", "/{pipeline}/status/{at}")),
    },
    "ingestionPipeline": {
        *((method, "/{pipeline}/pipelineStatus") for method in ("put", "get", "delete")),
        ("get", "/{pipeline}/pipelineStatus/{run}"),
    },
    "topic": {(method, "/{topic}/sampleData") for method in ("put", "get", "delete")},
    "user": {("get", "/loggedInUser")},
    "domain": {("get", "/hierarchy")},
    "dataContract": {
        *((method, f"/odcs{form}") for method in ("post", "put") for form in ("", "/yaml")),
        *(("get", f"/{{entity_id}}/odcs{form}") for form in ("", "/yaml")),
        *(("get", f"/name/{{fqn}}/odcs{form}") for form in ("", "/yaml")),
        ("get", "/{entity_id}/badge.svg"),
        *(("post", f"{part}/compare") for part in ("", "/{entity_id}")),
        *(("post", f"/odcs/{done}/yaml") for done in ("parse", "validate")),
        *(("post", path) for path in ("/validate", "/validate/yaml", "/entity/validate")),
        ("post", "/{contract}/validate"),
        *((method, "/{contract}/results") for method in ("put", "get")),
        *(("get", f"/{{contract}}/results/{which}") for which in ("latest", "{result}")),
        *(("delete", f"/{{contract}}/results/{which}{{at}}") for which in ("", "before/")),
    },
    "dataProduct": {("put", f"/{{name}}/assets/{done}") for done in ("add", "remove")},
    "testSuite": {("put", "/executable")},
    "testCase": {
        *((method, "/{case}/failedRowsSample") for method in ("put", "get", "delete")),
        ("put", "/{entity_id}/inspectionQuery"),
        ("put", "/logicalTestCases"),
        ("delete", "/logicalTestCases/{suite_id}/{entity_id}"),
        *((method, "/testCaseResults/{fqn}") for method in ("get", "post")),
    },
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_kind_has_all_its_operations(kind: EntityKind, openapi: Any) -> None:
    prefix = f"/v1/{kind.collection}"
    found = {
        (method, path.removeprefix(prefix)): operation
        for method, path, operation in operations(openapi)
        if (path + "/").startswith(f"{prefix}/")
    }
    some = {
        ("get", "/entity"): kind.agreement,
        ("delete", "/deleteStale"): kinds_above(kind.name),
        ("get", "/{entity_id}/followers"): "followers" in kind.keys,
        ("put", "/{entity_id}/followers"): "followers" in kind.keys,
        ("delete", "/{entity_id}/followers/{user_id}"): "followers" in kind.keys,
    }
    expected = OF_EVERY_KIND | OF_ONE_KIND.get(kind.name, set())
    assert found.keys() == expected | {operation for operation, has_it in some.items() if has_it}
    assert {tag for operation in found.values() for tag in operation["tags"]} == {
        kind.collection.rpartition("/")[2]
    }


def test_document_has_every_route_but_its_own(app: Litestar, openapi: Any) -> None:
    documented = {(method, path) for method, path, _ in operations(openapi)}
    routed = permissions(app).keys()
    # HEAD is there wherever GET is, and needs no words.
    heads = {key for key in routed if key[0] == "head"}
    assert heads == {("head", path) for method, path in routed if method == "get"}
    assert documented == routed - heads


def test_operation_ids_are_unique_and_readable(openapi: Any) -> None:
    ids = [operation["operationId"] for _, _, operation in operations(openapi)]
    assert len(ids) == len(set(ids))
    assert {
        *("listTables", "createTable", "createOrUpdateTable", "getTable", "getTableByName"),
        *("patchTable", "patchTableByName", "deleteTable", "deleteTableByName", "restoreTable"),
        *("listTableVersions", "getTableVersion", "listDataContracts", "searchEntities"),
    } <= set(ids)
    assert [each for each in ids if not re.fullmatch(r"[a-z]+([A-Z][a-z]*)+", each)] == []


def test_operations_need_a_token_unless_public(app: Litestar, openapi: Any) -> None:
    demanded = permissions(app)
    for method, path, operation in operations(openapi):
        public = demanded[method, path] == PUBLIC
        assert operation["security"] == ([] if public else [{"bearer": []}]), path
        assert ({"401", "403"} <= operation["responses"].keys()) is not public, path


def test_reads_of_the_past_may_find_it_gone(openapi: Any) -> None:
    of_the_past = [
        (operation["operationId"], operation["responses"])
        for methods in openapi["paths"].values()
        for operation in methods.values()
        if operation["operationId"].startswith("diff")
        or "asOf" in {each.get("name") for each in operation.get("parameters", ())}
    ]
    assert len(of_the_past) > 3 * len(KINDS)
    assert [name for name, responses in of_the_past if "410" not in responses] == []


def test_references_resolve(openapi: Any) -> None:
    for reference in set(references(openapi)):
        value = openapi
        for key in reference.removeprefix("#/").split("/"):
            value = value[key]


def test_component_schemas_are_json_schemas(openapi: Any) -> None:
    # Together, as each validator goes through all of them.
    names = openapi["components"]["schemas"]
    validator(openapi, {"anyOf": [{"$ref": f"#/components/schemas/{name}"} for name in names]})


def test_requests_document_their_bodies(openapi: Any) -> None:
    for method, path, operation in operations(openapi):
        writes = method in ("post", "put", "patch") or (method, path[-12:]) == (
            "delete",
            "/deleteStale",
        )
        # Everything about the ranks to compute, or the contract to validate, is in the address.
        writes = writes and "/compute.percentile/" not in path
        writes = writes and not path.endswith(("{contract}/validate", "/entity/validate"))
        assert ("requestBody" in operation) is writes, path


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_answers_may_have_each_optional_field(kind: EntityKind, openapi: Any) -> None:
    assert openapi["components"]["schemas"][kind.body.__name__]["properties"].keys() >= {
        *kind.optional
    }


def test_request_schema_asks_for_what_a_kind_needs(openapi: Any) -> None:
    create = validator(openapi, {"$ref": "#/components/schemas/CreateTag"})
    assert create.is_valid({"name": "a", "classification": "b"})
    assert not create.is_valid({"name": "a"})
    assert not create.is_valid({"name": "a", "classification": "b", "bogus": 1})


def test_document_refuses_a_route_without_an_operation() -> None:
    def nowhere() -> None:
        """Answer nothing."""

    bare = Litestar([route("GET", "/v1/nowhere", PUBLIC, nowhere, {})], openapi_config=None)
    with pytest.raises(LookupError, match="/v1/nowhere is declared without an Operation"):
        document(bare)


def test_document_is_built_once(app: Litestar, openapi: Any) -> None:
    assert docs.encoded(app) is docs.encoded(app)
    assert msgspec.json.decode(docs.encoded(app)) == openapi


def test_document_is_served_without_a_token(client: Any, openapi: Any) -> None:
    response = client.http.get("/docs/openapi.json")
    assert response.status_code == 200
    assert response.json() == openapi


BY_FIELD = "/v1/search/fieldQuery"
PROFILER = "/v1/system/settings/profilerConfiguration"
DEFINITIONS = "/v1/services/testConnectionDefinitions/name"


def test_answers_are_as_documented(client: Any, openapi: Any) -> None:
    client.schema()
    user = client.create("users", name="ann")
    table = client.table(owners=[{"type": "user", "id": user["id"]}])
    contract = {
        "name": "promise",
        "entity": {"type": "table", "id": table["id"]},
        "schema": [{"name": "id", "dataType": "INT"}],
    }
    schema = {"type": "databaseSchema", "fullyQualifiedName": "service.database.schema"}
    one, named = f"/v1/tables/{table['id']}", f"/v1/tables/name/{table['fullyQualifiedName']}"
    patch = [{"op": "add", "path": "/description", "value": "text"}]
    asked: list[tuple[str, str, str, Any]] = [
        ("get", "/v1/tables", "/v1/tables?fields=*", None),
        ("get", "/v1/tables", "/v1/tables?limit=-1", None),
        ("get", "/v1/tables/{entity_id}", f"{one}?fields=owners", None),
        ("get", "/v1/tables/{entity_id}", f"/v1/tables/{ID}", None),
        ("get", "/v1/tables/name/{fqn}", named, None),
        ("patch", "/v1/tables/{entity_id}", one, patch),
        ("post", "/v1/tables", "/v1/tables", {}),
        ("get", "/v1/tables/{entity_id}/versions", f"{one}/versions", None),
        ("get", "/v1/tables/{entity_id}/versions/{version}", f"{one}/versions/0.1", None),
        ("post", "/v1/dataContracts", "/v1/dataContracts", contract),
        ("post", "/v1/dataContracts", "/v1/dataContracts", contract),
        ("put", "/v1/dataContracts", "/v1/dataContracts", {**contract, "entityStatus": "Active"}),
        ("put", "/v1/dataContracts", "/v1/dataContracts", {**contract, "name": "second"}),
        ("put", "/v1/dataContracts", "/v1/dataContracts", {**contract, "entity": schema}),
        ("get", "/v1/dataContracts", "/v1/dataContracts?limit=1&fields=owners", None),
        ("delete", "/v1/users/{entity_id}", f"/v1/users/{user['id']}", None),
        ("put", "/v1/users/restore", "/v1/users/restore", {"id": user["id"]}),
        ("get", "/v1/search/query", "/v1/search/query?q=(", None),
        ("get", BY_FIELD, f"{BY_FIELD}?fieldName=name", None),
        ("get", BY_FIELD, f"{BY_FIELD}?fieldName=name&fieldValue=*&index=all", None),
        ("get", f"{DEFINITIONS}/{{fqn}}", f"{DEFINITIONS}/Mysql.testConnectionDefinition", None),
        ("get", f"{DEFINITIONS}/{{fqn}}", f"{DEFINITIONS}/Mysql", None),
        ("get", PROFILER, PROFILER, None),
        ("get", "/v1/system/version", "/v1/system/version", None),
        ("get", "/v1/system/projections", "/v1/system/projections", None),
        ("get", "/healthz", "/healthz", None),
        ("get", "/readyz", "/readyz", None),
    ]
    for method, path, url, body in asked:
        check(openapi, method, path, client.request(method.upper(), url, json=body))
    client.search_until(lambda answer: answer["hits"]["total"]["value"] > 5, q="*")
    for query in ("q=*&getHierarchy=true&sortField=name", "q=*&fetchSource=false", "q=orders"):
        found = client.request("GET", f"/v1/search/query?{query}")
        check(openapi, "get", "/v1/search/query", found)
    check(openapi, "get", "/v1/tables", client.http.get("/v1/tables"))


def test_parameters_that_are_no_texts_refuse_null(client: Any, openapi: Any) -> None:
    asked = 0
    for method, path, operation in operations(openapi):
        if method != "get" or "{" in path:
            continue
        required = [each["name"] for each in operation["parameters"] if each.get("required")]
        searched = "q=&" if "q" in {each.get("name") for each in operation["parameters"]} else ""
        for parameter in operation["parameters"]:
            schema = parameter.get("schema", {})
            text = schema.get("type") == "string" and not {"enum", "format"} & schema.keys()
            if parameter.get("in") == "query" and schema.get("type") != "array" and not text:
                name = parameter["name"]
                if schema.get("format") in TEXTS:
                    continue
                others = "".join(f"&{each}=name" for each in required if each != name)
                status, body = client.ask("GET", f"{path}?{searched}{name}=%6eull{others}")
                assert (status, body["code"], body["message"].startswith(name)) == (400, 400, True)
                asked += 1
    assert asked > 50


def test_page_asks_nothing_of_other_servers(client: Any) -> None:
    response = client.http.get("/docs")
    assert response.status_code == 200
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert response.headers["content-security-policy"].startswith(
        "default-src 'none'; script-src 'self'; style-src 'self';"
    )
    assert REMOTE.findall(response.content) == []
    asked = re.findall(r'(?:src|href)="(/[^"]*)"', response.text)
    assert [link.partition("?")[0] for link in asked] == [
        "/docs/swagger-ui.css",
        "/docs/swagger-ui-bundle.js",
        "/docs/docs.js",
        "/docs/openapi.json",
    ]
    for link in asked:
        assert client.http.get(link).status_code == 200, link
    script = client.http.get("/docs/docs.js").content
    assert REMOTE.findall(script.replace(b"// Shows", b"")) == []


def test_assets_may_be_kept_forever(client: Any) -> None:
    for name, (place, _) in docs.ASSETS.items():
        response = client.http.get(f"/docs/{name}")
        assert response.status_code == 200
        assert response.content == (Path(docs.__file__).parents[1] / "static" / place).read_bytes()
        assert response.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert response.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", ["/docs", "/docs/openapi.json", "/docs/docs.js"])
def test_head_has_the_headers_of_the_page(client: Any, path: str) -> None:
    whole = client.http.get(path)
    response = client.http.head(path)
    assert (response.status_code, response.content) == (200, b"")
    own = {"x-request-id": "", "date": ""}
    assert {**response.headers, **own} == {**whole.headers, **own}


def test_nothing_else_is_served(client: Any) -> None:
    for path in ("nothing.js", "docs.html", "..%2Fdocs.py", "internal", "a/b"):
        response = client.http.get(f"/docs/{path}")
        assert response.status_code == 404, path
        assert response.json()["errorType"] == "NOT_FOUND"


def test_numbers_have_both_of_their_bounds(openapi: Any) -> None:
    half = {
        f"{method} {path} {parameter['name']}"
        for path, operations in openapi["paths"].items()
        for method, operation in operations.items()
        for parameter in operation.get("parameters", ())
        if len({"minimum", "maximum"} & parameter.get("schema", {}).keys()) == 1
    }
    assert half == set()
