"""A read that names a position includes it, wherever it is answered, or is refused."""

import asyncio
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from api.answers.read_positions import MAX_POSITION, MAX_WAITING, ReadPositions, may_wait
from api.callers.permissions import Action, Permission, Principal
from api.errors import Overloaded, TooManyRequests
from benchmarks.direct_catalog import DirectCatalog
from domain.event_store.opening import open_event_log
from domain.kinds.registry import KINDS
from projections.feeding.passing import CheckpointWaiters
from tests.api.conftest import Client, over_files, running
from tests.projections.read_models import ME

SERVICES = "/v1/services/databaseServices"
READS = (
    SERVICES,
    f"{SERVICES}/name/first",
    f"{SERVICES}?fields=owners&limit=3",
    "/v1/search/query?q=first",
    "/v1/search/aggregate?field=name.keyword",
    "/v1/search/entityTypeCounts",
    "/v1/lineage/databaseService/name/first",
    f"{SERVICES}/{{id}}",
    f"{SERVICES}/{{id}}/versions",
    f"{SERVICES}/{{id}}/versions/0.1",
)
MALFORMED = ("", "-1", "+1", "1.0", "1e3", "0x1", "1, 2", "one", f"{MAX_POSITION + 1}", "9" * 30)


def at(position: object) -> dict[str, str]:
    return {"X-Catalog-Position": str(position)}


def timeless(body: bytes) -> bytes:
    """An answer without the milliseconds that it took."""
    return re.sub(rb'"took":\d+', b"", body)


@pytest.fixture
def first(empty: Client) -> tuple[Client, dict[str, Any], int]:
    """A catalog with a service, and the position of its creation."""
    body = {"name": "first", "serviceType": "Mysql"}
    made = empty.request("PUT", SERVICES, json=body)
    position = int(made.headers["X-Catalog-Position"])
    # Searches have it a moment later.
    empty.request("GET", "/v1/search/query?q=first", headers=at(position))
    return empty, made.json(), position


@pytest.mark.parametrize("path", READS)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_read_at_a_position_that_was_applied_is_answered_as_without(
    first: tuple[Client, dict[str, Any], int], method: str, path: str
) -> None:
    client, made, position = first
    path = path.format(id=made["id"])
    for known in (0, position):
        response = client.request(method, path, headers=at(known))
        without = client.request(method, path)
        assert (response.status_code, timeless(response.content)) == (
            200,
            timeless(without.content),
        )


@pytest.mark.parametrize("path", READS)
def test_what_is_no_position_is_refused(
    first: tuple[Client, dict[str, Any], int], path: str
) -> None:
    client, made, _ = first
    path = path.format(id=made["id"])
    for value in MALFORMED:
        status, body = client.ask("GET", path, headers=at(value))
        assert (status, body["errorType"]) == (400, "BAD_REQUEST"), value
        assert body["message"].startswith("X-Catalog-Position must be one whole number from 0 to")


def test_several_positions_are_refused(first: tuple[Client, dict[str, Any], int]) -> None:
    client, _, _ = first
    token = client.request("GET", SERVICES).request.headers["Authorization"]
    headers = [
        ("Authorization", token),
        ("X-Catalog-Position", "1"),
        ("X-Catalog-Position", "1"),
    ]
    assert client.http.get(SERVICES, headers=headers).status_code == 400


def test_caller_who_is_not_admitted_learns_nothing_of_positions(
    first: tuple[Client, dict[str, Any], int],
) -> None:
    client, _, _ = first
    for value in ("x", MAX_POSITION):
        assert client.http.get(SERVICES, headers=at(value)).status_code == 401
        assert client.ask("GET", "/metrics", role="reader", headers=at(value))[0] == 403


def test_writes_and_routes_without_read_models_pass_the_header_over(
    first: tuple[Client, dict[str, Any], int],
) -> None:
    client, _, _ = first
    for path in ("/healthz", "/v1/system/version", "/v1/system/projections", "/v1/audit/events"):
        assert client.request("GET", path, headers=at(MAX_POSITION)).status_code == 200
    body = {"name": "first", "serviceType": "Mysql"}
    assert client.request("PUT", SERVICES, json=body, headers=at("x")).status_code == 200


@pytest.fixture
def impatient(tmp_path: Path) -> Iterator[Client]:
    """A catalog that waits for a moment only."""
    with running(tmp_path, patience=0.05) as client:
        client.create("services/databaseServices", name="first", serviceType="Mysql")
        yield client


@pytest.mark.parametrize("path", [SERVICES, f"{SERVICES}/name/first", "/v1/search/query?q=first"])
def test_position_that_the_log_never_gave_is_waited_for_and_refused(
    impatient: Client, path: str
) -> None:
    for _ in range(2):  # the second time, the head of the request is known
        response = impatient.request("GET", path, headers=at(MAX_POSITION))
        assert (response.status_code, response.headers["Retry-After"]) == (503, "1")
        assert response.json()["message"] == (
            f"this host has not applied position {MAX_POSITION} yet: try again,"
            " or read without X-Catalog-Position"
        )
    assert impatient.request("GET", path).status_code == 200


@over_files
def test_read_waits_for_what_another_process_has_appended(tmp_path: Path) -> None:
    with (
        # However busy the machine is.
        running(tmp_path, search_refresh=0.3, patience=30.0) as client,
        closing(open_event_log(tmp_path / "events.db")) as log,
    ):
        client.request("GET", SERVICES)  # which makes its token a known one
        for name, path in (("listed", SERVICES), ("found", "/v1/search/query?q=found")):
            body = {"name": name, "serviceType": "Mysql"}
            written = DirectCatalog(log).create(KINDS["databaseService"], body, ME)
            response = client.request("GET", path, headers=at(written.position))
            assert response.status_code == 200
            assert f'"name":"{name}"' in response.text


@over_files
def test_plain_reads_at_a_position_are_answered_at_once(tmp_path: Path) -> None:
    with running(tmp_path) as client:
        made = client.request("POST", SERVICES, json={"name": "a", "serviceType": "Mysql"})
        headers = at(made.headers["X-Catalog-Position"])
        answer = client.request("GET", SERVICES, headers=headers)
        app: Any = client.http.app
        for path in (SERVICES, f"{SERVICES}/name/a"):
            given = answer.request.headers.raw
            scope = {
                "type": "http",
                "method": "GET",
                "path": path,
                "raw_path": path.encode(),
                "query_string": b"",
                "headers": [(name.lower(), value) for name, value in given],
            }
            answered, _ = app.edge.answer(scope)
            assert answered.status_code == 200


class Checkpoint:
    """A checkpoint that a test moves."""

    def __init__(self) -> None:
        self.position = 0

    def __call__(self) -> int:
        return self.position


Wait = Callable[..., Any]
"""Waits for a position as a caller, who lists unless it is said otherwise."""


def waits(test: Callable[[Checkpoint, Checkpoint, Wait], Any]) -> None:
    """Run a test of what waits for two checkpoints: that of lists, and that of searches."""
    listed, searchable = Checkpoint(), Checkpoint()
    positions = ReadPositions(
        CheckpointWaiters(listed, 5.0, announced=False),
        CheckpointWaiters(searchable, 5.0, announced=False),
    )

    async def wait(position: int, caller: str, action: Action = Action.LIST) -> None:
        scope: Any = {
            "headers": [(b"x-catalog-position", b"%d" % position)],
            "user": Principal(caller, ()),
        }
        await positions.wait(scope, Permission(action))

    asyncio.run(test(listed, searchable, wait))


def test_search_waits_for_both_read_models() -> None:
    async def test(listed: Checkpoint, searchable: Checkpoint, wait: Wait) -> None:
        searching = asyncio.create_task(wait(3, "ann", Action.SEARCH))
        listing = asyncio.create_task(wait(3, "ann", Action.VIEW))
        listed.position = 3
        await listing
        assert not searching.done()
        searchable.position = 3
        await searching

    waits(test)


def test_reads_that_wait_are_bounded_for_each_caller() -> None:
    async def test(listed: Checkpoint, searchable: Checkpoint, wait: Wait) -> None:
        tasks = [asyncio.create_task(wait(3, "ann")) for _ in range(MAX_WAITING)]
        await asyncio.sleep(0)
        with pytest.raises(
            TooManyRequests, match="you have 64 reads that wait for a position under way"
        ):
            await wait(3, "ann")
        other = asyncio.create_task(wait(3, "bob"))
        listed.position = 3
        await asyncio.gather(*tasks, other)
        await wait(3, "ann")

    waits(test)


def test_checkpoint_that_goes_back_is_believed() -> None:
    """As when a read model is built anew from an older copy of the log."""

    async def test(listed: Checkpoint, searchable: Checkpoint, wait: Wait) -> None:
        listed.position = 3
        await wait(3, "ann")
        listed.position = 2
        waiting = asyncio.create_task(wait(3, "ann"))
        done, _ = await asyncio.wait([waiting], timeout=0.02)
        assert not done
        listed.position = 3
        await waiting

    waits(test)


def test_position_that_is_not_reached_in_time_is_refused() -> None:
    async def test() -> None:
        stuck = CheckpointWaiters(Checkpoint(), 0.01, announced=True)
        positions = ReadPositions(stuck, stuck)
        scope: Any = {"headers": [(b"x-catalog-position", b"1")], "user": Principal("ann", ())}
        with pytest.raises(Overloaded, match="has not applied position 1 yet"):
            await positions.wait(scope, Permission(Action.LIST))

    asyncio.run(test())


READ_BY_POST = {
    "/v1/dataContracts/compare",
    "/v1/dataContracts/{entity_id}/compare",
    "/mcp",
    "/v1/search/aggregate",
    "/v1/dataContracts/odcs/parse/yaml",
    "/v1/dataContracts/odcs/validate/yaml",
}


def test_document_has_the_condition_on_every_read_and_on_nothing_else(empty: Client) -> None:
    document = empty.get("/docs/openapi.json")
    condition = {"$ref": "#/components/parameters/Known-Position"}
    assert document["components"]["parameters"]["Known-Position"]["name"] == "X-Catalog-Position"
    unconditional = set()
    for path, item in document["paths"].items():
        for method, operation in item.items():
            takes = condition in operation["parameters"]
            assert not takes or {"400", "503"} <= operation["responses"].keys()
            if method == "get" and not takes:
                unconditional.add(path)
            assert not takes or method == "get" or path in READ_BY_POST, (method, path)
    assert unconditional == {
        "/healthz",
        "/metrics",
        "/readyz",
        "/v1/audit/events",
        "/v1/system/projections",
        "/v1/system/version",
    }


def test_only_reads_wait() -> None:
    assert {action for action in Action if may_wait(Permission(action))} == {
        Action.LIST,
        Action.VIEW,
        Action.SAMPLE,
        Action.SEARCH,
    }
    assert not may_wait("public")
