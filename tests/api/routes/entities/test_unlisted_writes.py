"""Writes that lists do not show in time say so, of whatever sort they are."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from domain.errors import StoreUnavailable
from projections.entities.projection import EntityProjection
from tests.api.conftest import Client, running
from tests.api.routes.entities.test_logical_suites import LOGICAL, add, suite_and_cases
from tests.api.routes.measurements.test_data_quality import TABLE
from tests.waiting import until

SERVICES = "/v1/services/databaseServices"
SCHEMA = "service.database.schema"


class World:
    """Catalog that the writes of a test are about."""

    def __init__(self, client: Client) -> None:
        self.suite, (self.case, _) = suite_and_cases(client)
        self.tables = [client.get(f"/v1/tables/name/{TABLE}")["id"], client.table("more")["id"]]
        self.services = [
            client.create("services/databaseServices", name=name, serviceType="Mysql")["id"]
            for name in ("patched", "deleted", "purged", "restored")
        ]
        client.request("DELETE", f"{SERVICES}/{self.services[3]}")

    def edge(self, query: str) -> Any:
        """The body that draws an edge between the tables."""
        beginning, end = ({"type": "table", "id": each} for each in self.tables)
        details = {"sqlQuery": query}
        return {"edge": {"fromEntity": beginning, "toEntity": end, "lineageDetails": details}}


def written(client: Client, world: World) -> Iterator[tuple[str, Any]]:
    """One write of each sort: what it is, and its answer."""
    patched, deleted, purged, restored = world.services
    body = {"name": "new", "serviceType": "Mysql"}
    patch = [{"op": "add", "path": "/description", "value": "new"}]
    edge = f"/v1/lineage/table/{world.tables[0]}/table/{world.tables[1]}"
    stale = {"scopeFqn": SCHEMA, "scopeEntityType": "databaseSchema", "seenFqns": [f"{SCHEMA}.x"]}

    def ask(method: str, path: str, json: Any = None) -> tuple[str, Any]:
        return f"{method} {path}", client.request(method, path, json=json)

    yield ask("POST", SERVICES, body)
    yield ask("PUT", SERVICES, {**body, "description": "newer"})
    yield "repeated PUT", client.request("PUT", SERVICES, json={**body, "description": "newer"})
    yield ask("PATCH", f"{SERVICES}/{patched}", patch)
    yield ask("PATCH", f"{SERVICES}/name/new", patch)
    yield ask("DELETE", f"{SERVICES}/{deleted}")
    yield ask("DELETE", f"{SERVICES}/{purged}?hardDelete=true")
    yield ask("PUT", f"{SERVICES}/restore", {"id": restored})
    yield ask("PUT", f"{SERVICES}/bulk", [{**body, "name": "bulk"}])
    yield ask("PUT", "/v1/lineage", world.edge("select 1"))
    yield ask("PATCH", edge, patch)
    yield ask("DELETE", edge)
    yield ask("PUT", "/v1/lineage", world.edge("select 2"))
    yield ask("DELETE", f"/v1/lineage/table/{world.tables[1]}/type/Manual")
    yield "PUT into a suite", add(client, world.suite, world.case["id"])
    yield ask("DELETE", f"{LOGICAL}/{world.suite}/{world.case['id']}")
    yield ask("DELETE", "/v1/tables/deleteStale", stale)


PATIENT = 60.0
"""Seconds after which lists show a write, however busy the machine is."""


@contextmanager
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is applied to the sorted read model in this block."""

    def apply(*_: object) -> None:
        raise StoreUnavailable("held by a test")

    with monkeypatch.context() as patch:
        patch.setattr(EntityProjection, "apply", apply)
        yield


def test_write_that_lists_do_not_show_in_time_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(tmp_path, patience=PATIENT) as client:
        world = World(client)
    with running(tmp_path, patience=0.0) as client, held(monkeypatch):
        until(lambda: client.request("GET", "/readyz").status_code == 200)
        before = client.get(SERVICES)
        for what, answer in written(client, world):
            assert answer.status_code in (200, 201), (what, answer.text)
            assert answer.headers.get("X-Catalog-Lists") == "behind", what
            assert int(answer.headers["X-Catalog-Position"]) > 0, what
        assert client.get(SERVICES) == before


def test_write_that_lists_show_says_nothing(tmp_path: Path) -> None:
    with running(tmp_path, patience=PATIENT) as client:
        world = World(client)
        for what, answer in written(client, world):
            assert answer.status_code in (200, 201), (what, answer.text)
            assert "X-Catalog-Lists" not in answer.headers, what
