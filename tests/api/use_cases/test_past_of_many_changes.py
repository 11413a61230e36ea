"""Pages that lie behind many changes of one entity wait for their turn; all others do not."""

from contextlib import closing
from pathlib import Path
from typing import Any

from api.callers.limits import Places
from api.callers.work_queue import WorkQueue
from domain.event_store.opening import open_event_log
from tests.api.conftest import Client, over_files, running
from tests.projections.entities.test_many_changes import IDS, OTHERS, fill
from tests.waiting import until

CHANGES = 400


def tables(client: Client, **past: Any) -> Any:
    """The error of a page, or its descriptions by id."""
    status, body = client.ask("GET", "/v1/tables", params={"limit": 100, **past})
    return {one["id"]: one["description"] for one in body["data"]} if status == 200 else status


@over_files
def test_page_behind_many_changes_is_a_large_read_of_its_caller(tmp_path: Path) -> None:
    with closing(open_event_log(tmp_path / "events.db")) as log:
        created = fill(log, CHANGES)
    none = WorkQueue(1, Places(0, "large reads"))
    many = IDS[OTHERS // 2]
    with running(tmp_path, services={"heavy_reads": none}) as client:
        until(lambda: client.ask("GET", "/v1/tables?limit=0")[0] == 200)
        for done in (0, 1, CHANGES // 2, CHANGES - 1):
            assert tables(client, at=created + done) == 429
        now = tables(client)
        assert now[many] == str(CHANGES)
        for past in ({"at": "now"}, {"at": created + CHANGES}, {"asOf": "2026-01-01"}):
            assert tables(client, **past) == now
        # A list of other entities has nothing to do with it.
        assert client.ask("GET", "/v1/topics", params={"at": created})[0] == 200
    with running(tmp_path) as client:
        until(lambda: client.ask("GET", "/v1/tables?limit=0")[0] == 200)
        for done in (0, 1, CHANGES // 2, CHANGES - 1):
            assert tables(client, at=created + done) == {each: "0" for each in IDS} | {
                many: str(done)
            }
            one = client.get(f"/v1/tables/{many}", at=created + done)
            assert one["description"] == str(done)
