"""Catalog that generated requests meet: an entity of each kind, and values that mean something.

A schema says what a request looks like. That a name is the name of something, that a patch fits
the entity, or that two parameters go together, it cannot say; `World.meaningful` sees to it.
"""

import time
from datetime import UTC, date, datetime
from itertools import count
from typing import Any
from urllib.parse import quote
from uuid import UUID, uuid5

from schemathesis import Case
from schemathesis.core.parameters import ParameterLocation

from api.paths.base_path import PUBLISHED
from api.paths.openlineage import BATCH_PATHS, EVENT_PATHS
from api.routes.system.audit import MAX_LIMIT
from domain.kinds.bodies.property_types import type_id
from domain.kinds.entity_kind import EntityKind
from domain.kinds.names import MAX_NAME_LENGTH
from domain.kinds.registry import KINDS, kinds_above
from domain.openmetadata.entity_properties import REQUEST_ALIASES
from projections.search.answers.queries import MAX_WINDOW
from tests.api.conftest import Client

REQUIRED: dict[str, dict[str, Any]] = {
    "team": {"teamType": "Group"},
    "domain": {"domainType": "Aggregate"},
    "databaseService": {"serviceType": "Mysql"},
    "messagingService": {"serviceType": "Kafka"},
    "dashboardService": {"serviceType": "Looker"},
    "pipelineService": {"serviceType": "Airflow"},
    "mlmodelService": {"serviceType": "Mlflow"},
    "storageService": {"serviceType": "S3"},
    "searchService": {"serviceType": "ElasticSearch"},
    "apiService": {"serviceType": "Rest"},
    "topic": {"partitions": 1},
    "dashboardDataModel": {"dataModelType": "SupersetDataModel"},
    "query": {"query": "SELECT 1"},
    "ingestionPipeline": {"pipelineType": "metadata", "sourceConfig": {}, "airflowConfig": {}},
    "testDefinition": {"entityType": "TABLE", "testPlatforms": ["dbt"]},
}
"""Keys that a kind needs beside its name and parent."""
NESTED = {
    "upVoters": "user",
    "downVoters": "user",
    "owners": "user",
    "accessedBy": "user",
    "term": "glossaryTerm",
    "relatedTerms": "glossaryTerm",
    "dataSource": "table",
}
"""Key of a reference below the top level -> the kind that it is given here."""
DAYS = ("effectiveFrom", "effectiveUntil", "appliedAt", "generatedAt", "startDate")
"""Keys of the format date-time; where null is allowed too, schemathesis takes any text for one."""
_DAY = "2026-01-31T12:00:00Z"
NOW = int(time.time() * 1_000)
_RESULTS = "/v1/dataQuality/testCases/testCaseResults/"
_COSTS = "/v1/queryCostRecord"
_COLUMNS_NAMED = ("excludeColumns", "includeColumns")
"""Keys of profiler configurations that name columns, which have to be there."""
_RUNS = "/v1/pipelines/{pipeline}"
_PROMISES = "/v1/dataContracts/{contract}"
_INGESTIONS = "/v1/services/ingestionPipelines/{pipeline}"
_TOPICS, _FAILED = "/v1/topics/{topic}", "/v1/dataQuality/testCases/{case}"
_MEASURED = (
    _PROMISES,
    "/v1/tables/{table}",
    "/v1/usage/",
    *(_RUNS, _INGESTIONS, _TOPICS, _FAILED, _RESULTS, _COSTS),
)
_EVENTS, _UNRESOLVED = (*EVENT_PATHS, *BATCH_PATHS), "/v1/lineage/unresolved"
_COLLECTIONS = {kind.collection: kind for kind in KINDS.values()}


class World:
    """An entity of each kind that stays, and as many that do not as are asked for."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.entities: dict[str, dict[str, Any]] = {}
        self._numbers, self._turns = count(), count()
        for kind in KINDS.values():
            self.entities[kind.name] = self._create(kind)
        # The caller, of whom `loggedInUser` tells.
        client.create("users", name="the-admin")

    def _create(self, kind: EntityKind) -> dict[str, Any]:
        body = {"name": f"{kind.name} {next(self._numbers)}", **REQUIRED.get(kind.name, {})}
        if kind.parents and not kind.root:
            body[kind.parents[-1]] = self._references(kind, kind.parents[-1])
        if kind.agreement is not None:
            # An entity has one contract.
            table = self._create(KINDS["table"])
            body[kind.agreement.about] = {"id": table["id"], "type": "table"}
        if kind.name == "testCase":
            suite = {"name": "suite", "basicEntityReference": self._reference("table")}
            self.client.request("PUT", "/v1/dataQuality/testSuites/executable", json=suite)
            body["testDefinition"] = self._reference("testDefinition")
            body = self._linked(body)
        made: dict[str, Any] = self.client.create(kind.collection, **body)
        return made

    def _linked(self, body: dict[str, Any]) -> dict[str, Any]:
        """A test case of a table that exists, whose suite follows from the table."""
        link = f"<#E::table::{self.entities['table']['fullyQualifiedName']}>"
        kept = {key: value for key, value in body.items() if key not in ("testSuite", "entityFQN")}
        return {**kept, "entityLink": link}

    def _references(self, kind: EntityKind, key: str) -> Any:
        """A value for a key that holds a reference, or several."""
        kinds = kind.references[kind.attribute_of[key]]
        value = self._reference(kinds[0] if kinds else "table")
        return [value] if key in kind.arrays else value

    def _reference(self, kind: str) -> dict[str, str]:
        return {"id": self.entities[kind]["id"], "type": kind}

    def meaningful(self, case: Case) -> Case:
        """The case, changed where it keeps to its schema and the schema cannot say enough."""
        meta = case.meta
        if meta is None:
            return case
        headers = meta.components.get(ParameterLocation.HEADER)
        if "Idempotency-Key" in case.headers and headers and headers.mode.is_positive:
            # Else almost all would be answered as the first was, or refused for its sake.
            case.headers["Idempotency-Key"] = f"{next(self._numbers)}"
        if "X-Catalog-Position" in case.headers and headers and headers.mode.is_positive:
            # Any other would be waited for.
            case.headers["X-Catalog-Position"] = "1"
        for name in ("at", "from", "to"):
            if str(case.query.get(name, "")).isdigit():
                # Most positions are yet to come, and would be waited for.
                case.query[name] = "1"
        if not meta.generation.mode.is_positive:
            return case
        if next(self._turns) % 4:
            # Paths are of entities that exist, bodies of new ones: almost all would be refused.
            case.headers.pop("If-None-Match", None)
            if case.method == "PUT":
                case.headers.pop("If-Match", None)
        if case.path.startswith(_MEASURED):
            self._measure(case)
            return case
        collection = case.path.removeprefix("/v1/").partition("/{")[0]
        part = case.path.rpartition("}/")[2]
        suffixes = ("/name", "/restore", "/bulk", "/executable", "/deleteStale", "/async")
        for suffix in (*suffixes, "/hierarchy", "/loggedInUser"):
            collection = collection.removesuffix(suffix)
        if "at" in case.query:
            case.query["at"] = "now"
            case.query.pop("asOf", None)
        elif "asOf" in case.query:
            case.query["asOf"] = _DAY
        kind = _COLLECTIONS.get(collection)
        if kind is not None:
            if {"at", "asOf"} & {*case.query} and "fields" in case.query:
                # Of fields that come from measurements no past is kept.
                named = str(case.query["fields"]).split(",")
                case.query["fields"] = ",".join(each for each in named if each in kind.optional)
            self._aim(case, kind)
            if case.path.endswith("/deleteStale"):
                # What there is, other requests are about.
                case.body["scopeFqn"] = "nowhere"
                case.body["scopeEntityType"] = kinds_above(kind.name)[0]
            elif case.path.endswith("/bulk"):
                case.body = [
                    self._body(kind, one) if isinstance(one.get("name"), str) else one
                    for one in case.body
                ]
            elif part == "diff":
                case.query |= {"from": "now"}
                case.query.pop("to", None)
            elif part == "compare":
                for version in ("from", "to"):  # there is a document
                    case.query.pop(version, None)
            elif "/assets/" in case.path:
                case.body["assets"] = [self._reference("table") for _ in case.body["assets"]]
            elif "/followers" in case.path:
                self._follow(case, kind)
            elif part in kind.own_paths.put and case.method == "PUT":
                case.body = self._nested(case.body)
            elif part in kind.own_paths.added_to:
                kinds = kind.refers_to.get(kind.own_paths.added_to[part])
                if kinds is not None:
                    case.body = [self._reference((*kinds, "table")[0]) for _ in case.body]
            elif isinstance(case.body, list):
                case.body = _patch(case.body)
            elif isinstance(case.body, dict) and not case.path.endswith("/restore"):
                case.body = self._body(kind, case.body)
        elif case.path.startswith("/v1/dataContracts/odcs"):
            self._promise(case)
        elif case.path.startswith(PUBLISHED):
            self._publish(case)
        elif case.path == "/api/test-results":
            case.body["dataContractId"] = self.entities["dataContract"]["id"]
            case.body["timestampEnd"] = datetime.now(UTC).isoformat()
        elif case.path.startswith("/v1/dbt/"):
            case.query["service"] = self.entities["databaseService"]["name"]
            if case.path.endswith("/runResults") and isinstance(case.body, dict):
                case.body["metadata"] = {"generated_at": datetime.now(UTC).isoformat()}
        elif case.path.startswith("/v1/metadata/types"):
            self._define(case)
        elif "/logicalTestCases" in case.path:
            self._group(case)
        elif case.path == _UNRESOLVED or (case.path in _EVENTS and case.method == "POST"):
            pass  # events of pipelines, and the list of what they name, are about what they like
        elif case.path.startswith("/v1/lineage"):
            self._draw(case)
        elif case.path.startswith("/v1/services/testConnectionDefinitions"):
            case.path_parameters["fqn"] = "Postgres.testConnectionDefinition"
        elif case.path in ("/v1/dataContracts/entity", "/v1/dataContracts/entity/validate"):
            described = self.entities["dataContract"]["entity"]
            case.query |= {"entityId": described["id"], "entityType": described["type"]}
        elif case.path == "/v1/search/query":
            self._search(case.query)
        elif case.path == "/v1/search/fieldQuery":
            # A field that takes any text, for not every field takes every value.
            case.query["fieldName"] = "name"
            _keep_within_window(case.query)
        elif case.path == "/v1/search/sourceUrl":
            _keep_within_window(case.query)
        elif case.path == "/v1/search/aggregate":
            _keep_to_texts(case.body if case.method == "POST" else case.query)
        elif case.path == "/v1/search/get/{index}/doc/{entity_id}":
            case.path_parameters |= {"index": "all", "entity_id": self.entities["table"]["id"]}
        elif case.path == "/v1/diff":
            case.query |= {"from": "now"}
            case.query.pop("to", None)
            for name, kind_name in (("below", "glossary"), ("domain", "domain")):
                if name in case.query:
                    case.query[name] = self.entities[kind_name]["fullyQualifiedName"]
        elif case.path == "/v1/audit/events":
            for place in ("after", "before"):  # at most the head of the log, which moves
                case.query.pop(place, None)
            if int(case.query.get("limit", 0)) > MAX_LIMIT:  # the larger bound is that of NDJSON
                case.query["limit"] = MAX_LIMIT
        return case

    def refer_to_others(self, case: Case) -> None:
        """Have no reference in a list be to the entity that the request is about."""
        own = case.path_parameters.get("entity_id")
        if case.meta is None or not case.meta.generation.mode.is_positive:
            return
        if own is not None and isinstance(case.body, list):
            case.body = [
                self._reference("table")
                if isinstance(each, dict) and each.get("id") == own
                else each
                for each in case.body
            ]

    def _promise(self, case: Case) -> None:
        """Make it a document for a table that has no contract yet."""
        if case.query:
            table = self._create(KINDS["table"])
            case.query |= {"entityId": table["id"], "entityType": "table"}
            for strict in ("objectName", "strict"):
                case.query.pop(strict, None)
        if isinstance(case.body, dict):
            # An id may be longer than a name, and say nothing of what a name holds.
            case.body["name"] = f"document {next(self._numbers)}"

    def _publish(self, case: Case) -> None:
        """Make it a document of a new id, about a table that has no contract yet."""
        case.query.pop("strict", None)
        if isinstance(case.body, dict):
            fqn = self._create(KINDS["table"])["fullyQualifiedName"]
            named = {"property": "catalogEntity", "value": fqn}
            new = f"document {next(self._numbers)}"
            case.body |= {"id": new, "name": new, "customProperties": [named], "schema": None}

    def _define(self, case: Case) -> None:
        """Make it about a custom property of a kind that has some, of the simplest type."""
        named = {"entity_id": type_id("domain"), "type_name": "domain"}
        case.path_parameters |= {
            name: named[name] for name in case.path_parameters if name in named
        }
        if case.method == "PUT" and isinstance(case.body, dict):
            case.body |= {"propertyType": "string", "customPropertyConfig": None}
        elif case.method == "PATCH":
            path = f"/v1/metadata/types/{named['entity_id']}"
            given = {"name": "rank", "description": "a", "propertyType": "string"}
            self.client.request("PUT", path, json=given)
            text = {"op": "add", "path": "/customProperties/0/description", "value": "b"}
            case.body = [text for _ in case.body] if isinstance(case.body, list) else case.body

    def _follow(self, case: Case, kind: EntityKind) -> None:
        """Make it about a user that exists, who follows the entity where it is to end that."""
        user = self.entities["user"]["id"]
        if case.method != "DELETE":
            case.body = user if case.method == "PUT" else case.body
            return
        path = f"/v1/{kind.collection}/{case.path_parameters['entity_id']}/followers"
        self.client.request("PUT", path, json=user)

    def _measure(self, case: Case) -> None:
        """Make it a report of now on an entity that exists, or a question about it."""
        kind = case.path.split("/")[3] if case.path.startswith("/v1/usage/") else "table"
        if case.path.startswith("/v1/usage/compute.percentile/"):
            kind = case.path.split("/")[4]
        if case.path.startswith(_COSTS):
            kind = "databaseService"
            if isinstance(case.body, dict):
                case.body |= {"timestamp": NOW, "queryReference": self._reference("query")}
        if case.path.startswith(_RUNS):
            kind = "pipeline"
            for each in case.body if isinstance(case.body, list) else [case.body]:
                if isinstance(each, dict):
                    each["timestamp"] = NOW
        if case.path.startswith(_INGESTIONS):
            kind = "ingestionPipeline"
            if isinstance(case.body, dict):
                case.body["timestamp"] = NOW
        if case.path.startswith(_PROMISES):
            kind = "dataContract"
            known = {"timestamp": NOW, "contractExecutionStatus": "Success"}
            path = f"/v1/dataContracts/{self.entities[kind]['id']}/results"
            self.client.request("PUT", path, json=known)
            if isinstance(case.body, dict):
                case.body["timestamp"] = NOW
        if case.path.startswith(_TOPICS):
            kind = "topic"
        if case.path.startswith((_RESULTS, _FAILED)):
            kind = "testCase"
            if isinstance(case.body, dict) and case.path.startswith(_RESULTS):
                case.body |= {"timestamp": NOW, "testCaseFQN": None}
        target = self.entities[kind]
        if case.path.startswith(_FAILED):
            self._fail(target)
        fqn = target["fullyQualifiedName"]
        named = {
            **dict.fromkeys(("pipeline", "topic", "case", "contract"), target["id"]),
            "result": str(uuid5(UUID(target["id"]), str(NOW))),
            "table": f"{fqn}.column" if case.path.endswith("/columnProfile") else target["id"],
            "entity_id": target["id"],
            "fqn": quote(fqn, safe=""),
            "profile_type": "table",
            "at": NOW,
            "day": str(date.today()),
            "service": target["id"],
            "run": "a",
        }
        for name in case.path_parameters:
            case.path_parameters[name] = named[name]
        if case.method == "DELETE" and kind == "pipeline":
            report: dict[str, Any] = {"timestamp": NOW, "executionStatus": "Failed"}
            self.client.request("PUT", f"/v1/pipelines/{target['id']}/status", json=report)
        elif case.method == "DELETE" and kind == "table":
            report = {"tableProfile": {"timestamp": NOW}}
            self.client.request("PUT", f"/v1/tables/{target['id']}/tableProfile", json=report)
        if isinstance(case.body, dict):
            case.body = self._nested(case.body)
            for profiles in ("tableProfile", "columnProfile", "systemProfile"):
                given = case.body.get(profiles)
                for each in given if isinstance(given, list) else filter(None, [given]):
                    each["timestamp"] = NOW
                    if each.get("createDateTime") is not None:
                        each["createDateTime"] = _DAY
            if "rows" in case.body:
                case.body["columns"] = ["id"]
                case.body["rows"] = [["a"] for _ in case.body["rows"]]
            if "startDate" in case.body:
                case.body = {"startDate": str(date.today()), "directTableJoins": [self._join()]}
            if "date" in case.body:
                case.body["date"] = str(date.today())

    def _fail(self, case: dict[str, Any]) -> None:
        """Have a test failed at last, of which there is a sample."""
        results = f"{_RESULTS}{quote(case['fullyQualifiedName'], safe='')}"
        self.client.request("POST", results, json={"timestamp": NOW, "testCaseStatus": "Failed"})
        sample = {"columns": ["id"], "rows": [["a"]]}
        path = f"/v1/dataQuality/testCases/{case['id']}/failedRowsSample"
        self.client.request("PUT", path, json=sample)

    def _join(self) -> dict[str, Any]:
        """A table that exists, joined with another."""
        name = self.entities["table"]["fullyQualifiedName"]
        return {"fullyQualifiedName": name, "joinCount": 1}

    def _group(self, case: Case) -> None:
        """Make it about a logical suite that exists, with a case in it that may be taken out."""
        suite, test = self.entities["testSuite"]["id"], self.entities["testCase"]["id"]
        given = {"testSuiteId": suite, "testCaseIds": [test]}
        if case.method == "PUT":
            case.body = given
            return
        if next(self._turns) % 4:
            # Few of the requests are whole, and the suite has got another version meanwhile.
            case.headers.pop("If-Match", None)
        self.client.request("PUT", "/v1/dataQuality/testCases/logicalTestCases", json=given)
        case.path_parameters |= {"suite_id": suite, "entity_id": test}

    def _aim(self, case: Case, kind: EntityKind) -> None:
        """Make it about an entity that exists."""
        restoring = case.path.endswith("/restore")
        dying = restoring or case.method == "DELETE"
        target = self._create(kind) if dying else self.entities[kind.name]
        if restoring:
            self.client.request("DELETE", f"/v1/{kind.collection}/{target['id']}")
            case.body = {"id": target["id"]}
        named = {
            "entity_id": target["id"],
            **dict.fromkeys(("fqn", "name"), quote(target["fullyQualifiedName"], safe="")),
            "version": "0.1",
            "user_id": self.entities["user"]["id"],
        }
        for name in case.path_parameters:
            case.path_parameters[name] = named[name]

    def _draw(self, case: Case) -> None:
        """Make it about an edge that exists."""
        beginning, end = self.entities["pipeline"], self.entities["table"]
        edge = {"fromEntity": self._reference("pipeline"), "toEntity": self._reference("table")}
        details = {"sqlQuery": "select 1", "description": "daily"}
        drawn = {"edge": {**edge, "lineageDetails": details}}
        self.client.request("PUT", "/v1/lineage", json=drawn)
        if not next(self._turns) % 4:
            case.headers.pop("If-None-Match", None)
        named = {
            "entity_type": "pipeline",
            "to_type": "table",
            "entity_id": beginning["id"],
            "from_id": beginning["id"],
            "to_id": end["id"],
            "fqn": quote(beginning["fullyQualifiedName"], safe=""),
            "to_fqn": quote(end["fullyQualifiedName"], safe=""),
        }
        case.path_parameters |= {
            name: named[name] for name in case.path_parameters if name in named
        }
        if isinstance(case.body, list):
            case.body = _patch(case.body, "/sqlQuery")
        elif isinstance(case.body, dict):
            body = self._nested(case.body)
            if "edge" in body:
                body["edge"] |= edge
            details = body["edge"].get("lineageDetails") if "edge" in body else body
            if details and details.get("pipeline"):
                details["pipeline"] = self._reference("pipeline")
            case.body = body

    def _body(self, kind: EntityKind, given: dict[str, Any]) -> dict[str, Any]:
        """References to what exists, and nothing that follows from the parent anyway."""
        body: dict[str, Any] = self._nested(given)
        body["name"] = f"{next(self._numbers)} {given.get('name', '')}"[:MAX_NAME_LENGTH]
        for key in kind.inherits:
            if key not in kind.parents:
                body.pop(key, None)
        for attribute in kind.references:
            key = kind.key_of[attribute]
            if body.get(key) not in (None, []):
                body[key] = self._references(kind, key)
        for field, members in kind.members.items():
            if body.get(field):
                body[field] = [self._reference(members.kind)]
        if kind.agreement is not None and kind.agreement.about in body:
            # Of a kind without columns, of which every schema may be written.
            topic = self._create(KINDS["topic"])
            body[kind.agreement.about] = {"id": topic["id"], "type": "topic"}
        if kind.naming.below:
            # A table has one suite.
            table = self._create(KINDS["table"])
            body["basicEntityReference"] = {"id": table["id"], "type": "table"}
        if "entityLink" in body:
            body = self._linked(body)
        for alias, key in REQUEST_ALIASES.items():
            if body.get(alias) is not None:
                body[alias] = self._references(kind, key)[0]
        return body

    def _nested(self, value: Any) -> Any:
        """The same at any depth; parts of one level have names of their own."""
        if isinstance(value, list):
            return [
                {**inner, "name": f"{place} {inner['name']}"[:MAX_NAME_LENGTH]}
                if isinstance(inner, dict) and isinstance(inner.get("name"), str)
                else inner
                for place, inner in enumerate(map(self._nested, value))
            ]
        if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
            return int(value)  # to JSON schemas 5.0 is an integer, to the catalog it is not
        if not isinstance(value, dict):
            return value
        if "tagFQN" in value:
            kind = "glossaryTerm" if value.get("source") == "Glossary" else "tag"
            value = {**value, "tagFQN": self.entities[kind]["fullyQualifiedName"]}
        value = {
            key: _DAY if key in DAYS and isinstance(inner, str) else inner
            for key, inner in value.items()
            if key not in _COLUMNS_NAMED
        }
        return {
            key: self._refer(key, inner) if key in NESTED and inner else self._nested(inner)
            for key, inner in value.items()
        }

    def _refer(self, key: str, value: Any) -> Any:
        """A reference to what exists, in the place of one or of each of several."""
        reference = self._reference(NESTED[key])
        if not isinstance(value, list):
            return reference
        if key == "relatedTerms":
            return [{"term": reference} if isinstance(each, dict) else reference for each in value]
        return [reference for _ in value]

    def _search(self, query: dict[str, Any]) -> None:
        if "queryFilter" not in query:
            query.setdefault("q", "*")
        if "searchAfter" in query:
            # The sort values of a hit, found under the same order.
            name, entity_id = (self.entities["table"][key] for key in ("name", "id"))
            query |= {"sortField": "name", "from": 0, "searchAfter": [name, name, entity_id]}
        _keep_within_window(query)


def _keep_within_window(query: dict[str, Any]) -> None:
    offset, size = int(query.get("from", 0)), int(query.get("size", 10))
    query["from"] = min(offset, MAX_WINDOW - size)


def _keep_to_texts(given: Any) -> None:
    """Fewer hits in all than too many, and a filter only where it is one."""
    for key in ("size", "topHitsSize"):
        if key in given:
            given[key] = min(int(given[key]), 20)


def _patch(operations: list[dict[str, Any]], one: str = "/displayName") -> list[dict[str, Any]]:
    """The operations on two texts that are there each time."""
    texts = [{"op": "add", "path": path, "value": "text"} for path in (one, "/description")]
    fitting = {"path": one, "from": "/description", "value": "text"}
    return [
        each
        for operation in operations
        for each in (
            *texts,
            {**operation, **{key: fitting[key] for key in operation.keys() & fitting}},
        )
    ]
