"""Version, health, readiness, metrics, projections."""

from pathlib import Path

import msgspec

from api.log_writer import MOST_BYTES, LogWriter
from api.metrics import Metrics
from projections.feeding.daemon import ProjectorState, State, states_path
from projections.inspection import inspect
from tests.api.conftest import Client
from tests.projections.read_models import opened


def test_version_is_what_the_client_checks(empty: Client) -> None:
    response = empty.http.get("/v1/system/version")

    assert sorted(response.json()) == ["revision", "timestamp", "version"]
    assert response.json()["version"] == "2.0.7"


def test_health_and_readiness_need_no_token(empty: Client) -> None:
    assert empty.http.get("/healthz").json() == {"status": "alive"}
    assert empty.http.get("/readyz").json() == {"ready": True, "problems": []}


def test_readiness_says_which_projection_stopped(client: Client) -> None:
    answer = client.get("/v1/system/projections")
    assert [report["state"] for report in answer["projections"]] == ["running", "running"]
    path = states_path(client.directory)
    states = {"entities": ProjectorState(), "search": ProjectorState(State.STOPPED, "poison")}
    path.write_bytes(msgspec.json.encode(states))

    response = client.http.get("/readyz")

    assert response.status_code == 503
    assert response.json() == {"ready": False, "problems": ["projection search is stopped"]}


def test_projections_stand_at_the_head(client: Client) -> None:
    client.schema()
    client.search_until(lambda a: a["hits"]["total"]["value"] == 3, q="*")

    answer = client.get("/v1/system/projections")

    assert (answer["head"], answer["projected"]) == (3, True)
    assert [
        (report["name"], report["checkpoint"], report["lag"], report["entities"], report["error"])
        for report in answer["projections"]
    ] == [("entities", 3, 0, 3, None), ("search", 3, 0, 3, None)]


def test_metrics_count_log_lines_that_were_dropped(tmp_path: Path) -> None:
    writer = LogWriter(2)  # not started: nothing leaves its buffer
    for _ in range(3):
        writer.write(b"x" * MOST_BYTES)

    with opened(tmp_path) as stores:
        text = Metrics(lambda: writer.dropped).render(inspect(stores)).decode()

    assert "catalog_log_lines_dropped_total 2.0" in text.splitlines()


def test_metrics_count_requests_by_route_template(client: Client) -> None:
    client.schema()
    table = client.table()
    client.get(f"/v1/tables/{table['id']}")
    client.http.get("/v1/tables")

    text = client.request("GET", "/metrics").text

    def count(method: str, route: str, status: int) -> str:
        labels = f'method="{method}",route="{route}",status="{status}"'
        return f"catalog_request_seconds_count{{{labels}}} 1.0"

    assert count("GET", "/v1/tables/{entity_id}", 200) in text
    assert count("GET", "/v1/tables", 401) in text
    assert 'catalog_projection_checkpoint{projection="entities"} 4.0' in text
    assert table["id"] not in text
