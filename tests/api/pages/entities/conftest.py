"""A catalog with a past."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from tests.api.conftest import Client, running
from tests.api.pages.conftest import fill
from tests.waiting import until

TABLE = "service.database.schema.orders"
CONTRACT = f"{TABLE}.dataContract_orders"


class Story(msgspec.Struct, frozen=True):
    """A catalog, and what it was."""

    client: Client
    first: int
    """The position at which it was filled."""
    between: str
    """A time after that and before all that was changed since."""


def write(client: Client, method: str, path: str, body: Any = None) -> None:
    response = client.request(method, path, json=body)
    assert response.status_code == 200, response.text


def patch(client: Client, path: str, key: str, value: Any) -> None:
    write(client, "PATCH", path, [{"op": "add", "path": f"/{key}", "value": value}])


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    """A shop that was changed after it was filled, for tests that write nothing."""
    with running(tmp_path_factory.mktemp("story")) as client:
        fill(client)
        wide = [{"name": f"c{number}", "dataType": "INT"} for number in range(12)]
        retired, passing = client.table("retired", columns=wide), client.table("passing")
        first, last = client.services.stores.log.head(), passing["updatedAt"]
        until(lambda: time.time_ns() // 1_000_000 > last)
        client.table("later")
        patch(client, f"/v1/tables/name/{TABLE}", "description", "What everybody reads now")
        patch(client, f"/v1/tables/name/{TABLE}", "displayName", "Other columns")
        patch(client, "/v1/domains/name/sales", "name", "selling")
        write(client, "DELETE", f"/v1/tables/{retired['id']}")
        write(client, "DELETE", f"/v1/tables/{passing['id']}?hardDelete=true")
        moment = datetime.fromtimestamp(last / 1000, UTC).isoformat(timespec="milliseconds")
        yield Story(client, first, moment.replace("+00:00", "Z"))
