"""The requests that OpenMetadata's database connectors were seen to send, for a made-up source.

Methods, paths, queries and shapes of bodies are those of openmetadata-ingestion 2.0.7. What the
connectors need of an answer to go on is asserted here; what the catalog has then, by the tests.
"""

from datetime import date
from hashlib import md5
from typing import Any

import msgspec

from domain.measurements.reports import moment_of
from tests.api.conftest import Client

SERVICE, DATABASE, SCHEMA = "warehouse", "warehouse.shop", "warehouse.shop.sales"
NEVER_EMPTY = {"id", "name", "fullyQualifiedName", "columns"}
"""Keys without which the client cannot read a table."""
Values = dict[str, Any]


def column(name: str, data_type: str = "BIGINT", **more: Any) -> Values:
    """A column as connectors send it."""
    display = data_type.lower()
    return {
        "name": name,
        "dataType": data_type,
        "dataTypeDisplay": display,
        "dataLength": 1,
        **more,
    }


def hashed(body: Values) -> Values:
    """A request with the digest of itself that tells whether the source has changed."""
    return {**body, "sourceHash": md5(msgspec.json.encode(body)).hexdigest()}


class Connector:
    """One connector of one source, with the token of a bot."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.tables: dict[str, Values] = {
            "customers": {
                "description": "Who orders.",
                "tableType": "Regular",
                "columns": [column("id", constraint="PRIMARY_KEY"), column("label", "TEXT")],
            },
            "orders": {
                "tableType": "Regular",
                "columns": [
                    column("id", constraint="PRIMARY_KEY"),
                    column("customer", constraint="NULL"),
                    column("status", "VARCHAR", description="theirs"),
                ],
            },
            "open_orders": {
                "tableType": "View",
                "columns": [column("id")],
                "schemaDefinition": "create view sales.open_orders as select id from sales.orders",
            },
        }
        """Name of a table -> what the source says of it, without foreign keys."""
        self.keys = {"orders": ("customer", "customers")}
        """Name of a table -> its column that refers to the `id` of another table, and which."""

    def get(self, path: str, *statuses: int) -> Any:
        """The answer to a GET, which must have one of the statuses; None when there is nothing."""
        response = self.client.request("GET", f"/api/v1{path}", role="bot")
        assert response.status_code in statuses, response.text
        body = response.json()
        if response.status_code == 404:
            assert body["code"] == 404
            return None
        return body

    def send(self, method: str, path: str, body: Any, *, patch: bool = False) -> Any:
        """The answer to a write that succeeds, with the media type that the client names."""
        response = self.client.request(
            method,
            f"/api/v1{path}",
            role="bot",
            content=msgspec.json.encode(body),
            headers={"Content-type": f"application/json{'-patch+json' if patch else ''}"},
        )
        assert response.status_code in (200, 201), response.text
        return response.json()

    def run(self) -> None:
        """One run: all of the source is sent, and what it no longer has is deleted."""
        self._connect()
        pending = [name for name in self.keys if not self._is_known(self.keys[name][1])]
        self._look_for_views()
        self._send_all("databases", [hashed({"name": "shop", "service": SERVICE})])
        self._send_all("databaseSchemas", [hashed({"name": "sales", "database": DATABASE})])
        code = {"name": "close", "storedProcedureCode": {"code": "UPDATE sales.orders"}}
        kind = {"storedProcedureType": "StoredProcedure", "databaseSchema": SCHEMA}
        self._send_all("storedProcedures", [hashed({**code, **kind})])
        self._send_all("tables", [self._request(name, pending) for name in self.tables])
        self._delete_stale("tables", list(self.tables))
        self._delete_stale("storedProcedures", ["close"])
        for name in pending:
            self._add_key(name)

    def report_use(self, table: str, day: date, at: int) -> None:
        """One run of the usage workflow over a log with one query, which joins the table."""
        text, (column, other) = f"select * from {table} join others", self.keys[table]
        joined = {"fullyQualifiedName": f"{SCHEMA}.{other}.id", "joinCount": 1}
        joins = [{"columnName": column, "joinedWith": [joined]}]
        (found,) = self.found(table)
        path = f"/tables/{found['id']}"
        report = {"startDate": str(day), "columnJoins": joins, "directTableJoins": []}
        assert self.send("PUT", f"{path}/joins", report)["id"] == found["id"]
        digest = md5(text.encode()).hexdigest()
        assert self.get(f"/queries/name/{digest}", 404) is None
        query: Values = {"query": text, "usedBy": ["om"], "dialect": "postgres"}
        query["queryDate"] = moment_of(day)
        made = self.send("PUT", "/queries", {**query, "duration": 1.5, "service": SERVICE})
        used = f"/queries/{made['id']}"
        self.send("PUT", f"{used}/usage", [{"id": found["id"], "type": "table"}])
        self.send("PUT", f"{used}/usedBy", ["om"])
        access = {"accessed": {"timestamp": at, "accessedByAProcess": "om"}}
        life = [{"op": "add", "path": "/lifeCycle", "value": access}]
        self.send("PATCH", path, life, patch=True)
        self.send("POST", f"/usage/table/{found['id']}", {"date": str(day), "count": 1})
        named = self.get(f"/queries/name/{SERVICE}.{digest}", 200)
        cost = {"timestamp": at, "jsonSchema": "queryCostRecord", "cost": 1.0, "count": 1.0}
        cost["queryReference"] = {"id": named["id"], "type": "query"}
        self.send("POST", "/queryCostRecord", cost)
        for kind in ("table", "database"):
            ranks = self.client.request(
                "POST", f"/api/v1/usage/compute.percentile/{kind}/{day}", role="bot"
            )
            assert ranks.status_code == 201, ranks.text

    def _connect(self) -> None:
        assert msgspec.convert(self.get("/system/version", 200)["version"], str)
        path = "/services/testConnectionDefinitions/name/Postgres.testConnectionDefinition"
        assert self.get(path, 200)["steps"] == []
        path = f"/services/databaseServices/name/{SERVICE}?fields=*"
        if self.get(path, 200, 404) is None:
            config = {
                "type": "Postgres",
                "scheme": "postgresql+psycopg2",
                "username": "reader",
                "authType": {"password": "hidden"},
                "hostPort": "db:5432",
                "database": "shop",
                "supportsMetadataExtraction": True,
            }
            service = {
                "name": SERVICE,
                "serviceType": "Postgres",
                "connection": {"config": config},
            }
            assert self.send("PUT", "/services/databaseServices", service)["name"] == SERVICE
            assert self.get(path, 200)["serviceType"] == "Postgres"

    def _is_known(self, table: str) -> bool:
        return self.get(f"/tables/name/{SCHEMA}.{table}", 200, 404) is not None

    def found(self, table: str) -> list[Any]:
        """The tables that the client finds by a qualified name: it searches, then asks for each."""
        asked = f"fieldName=fullyQualifiedName&fieldValue={SCHEMA}.{table}&from=0&size=10"
        path = f"/search/fieldQuery?{asked}&index=table_search_index&deleted=false"
        hits = self.get(path, 200)["hits"]["hits"]
        names = [hit["_source"]["fullyQualifiedName"] for hit in hits]
        return [self.get(f"/tables/name/{name}", 200) for name in names]

    def _look_for_views(self) -> None:
        for name, table in self.tables.items():
            if table["tableType"] == "View":
                assert all(each.keys() >= NEVER_EMPTY for each in self.found(name))

    def _request(self, name: str, pending: list[str]) -> Values:
        """Return the body sent of a table; a key to a table that is not known yet comes later."""
        keys = [self._key(name)] if name in self.keys and name not in pending else []
        table = {"name": name, **self.tables[name], "tableConstraints": keys}
        return hashed({**table, "databaseSchema": SCHEMA})

    def _key(self, name: str) -> Values:
        here, table = self.keys[name]
        return {
            "constraintType": "FOREIGN_KEY",
            "columns": [here],
            "referredColumns": [f"{SCHEMA}.{table}.id"],
            "relationshipType": "MANY_TO_ONE",
        }

    def _send_all(self, collection: str, requests: list[Values]) -> None:
        path = f"/{collection}/bulk?async=false&overrideMetadata=false"
        result = self.send("PUT", path, requests)
        assert (result["status"], result["failedRequest"]) == ("success", [])
        # The client drops the whole result when an item has a key that it does not know.
        keys = {key for each in result["successRequest"] for key in each}
        assert keys <= {"request", "message", "status", "hasSideEffects"}
        assert result["numberOfRowsPassed"] == len(requests)

    def _delete_stale(self, collection: str, seen: list[str]) -> None:
        scope = {"scopeFqn": SCHEMA, "scopeEntityType": "databaseSchema"}
        names = [f"{SCHEMA}.{name}" for name in seen]
        body = {**scope, "seenFqns": names, "recursive": True}
        assert self.send("DELETE", f"/{collection}/deleteStale", body)["status"] == "success"

    def _add_key(self, name: str) -> None:
        """Patch a key into a table; the client numbers the columns whenever it patches a table."""
        table = self.get(f"/tables/name/{SCHEMA}.{name}?fields=tableConstraints", 200)
        assert self._is_known(self.keys[name][1])
        place = len(table.get("tableConstraints") or [])
        key = {"op": "add", "path": f"/tableConstraints/{place}", "value": self._key(name)}
        numbered = [{**each, "ordinalPosition": n} for n, each in enumerate(table["columns"], 1)]
        patch = [key, {"op": "replace", "path": "/columns", "value": numbered}]
        assert self.send("PATCH", f"/tables/{table['id']}", patch, patch=True)["id"] == table["id"]
