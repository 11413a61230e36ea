"""Events of an attacker that say little and ask for much work, memory or disk."""

import json
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from domain.openlineage.events import read_event
from domain.openlineage.keeping import WAITING, Keeping
from domain.openlineage.naming import Container, Service, by_path, longest_container
from domain.openlineage.reading import MOST_SYMLINKS, statement_of
from tests.api.conftest import RunFilled
from tests.api.openlineage.captured import DUCK, run_event, send, shop

_NOW = 2**41


def test_sources_beyond_the_bound_are_neither_looked_up_nor_kept(
    tmp_path: Path, run_filled: RunFilled
) -> None:
    event = run_event(writes=("orders", "daily_revenue"))
    for number, output in enumerate(event["outputs"]):
        sources = [
            {"namespace": DUCK, "name": f"{'a.' * 40}{number}_{each}"} for each in range(900)
        ]
        output["facets"] = {"lineage": {"inputs": sources}}
    with shop(run_filled, tmp_path) as client:
        (answer,) = send(client, event)
        assert answer["ignored"] == ["datasets left out: what is said of a run may name 1,000"]
        assert client.get("/v1/lineage/unresolved")["paging"]["total"] == 998


def test_events_of_one_run_do_not_add_up_to_more_than_one_may_say(
    tmp_path: Path, run_filled: RunFilled
) -> None:
    with shop(run_filled, tmp_path) as client:
        for part in range(3):
            names = tuple(f"t{part}_{number}" for number in range(600))
            at = f"2026-11-23T07:00:0{part}Z"
            send(client, run_event("RUNNING", at=at, reads=names, writes=("orders",)))
        (answer,) = send(client, run_event(at="2026-11-23T07:00:09Z"))
        assert answer["ignored"] == ["datasets left out: what is said of a run may name 1,000"]
        assert client.get("/v1/lineage/unresolved")["paging"]["total"] == 999


def test_dataset_with_edges_in_one_part_waits_once(tmp_path: Path, run_filled: RunFilled) -> None:
    reads, writes = (tuple(f"{side}{n}" for n in range(30)) for side in "rw")
    with shop(run_filled, tmp_path) as client:
        send(client, run_event(reads=reads, writes=writes))
        # 900 edges are drawn in two parts.
        data = client.get("/v1/lineage/unresolved")["data"]
        assert {each["statements"] for each in data} == {30}


def test_what_waits_holds_the_symlinks_of_its_own_datasets(
    tmp_path: Path, run_filled: RunFilled
) -> None:
    event = run_event(reads=("a", "b", "c"), writes=("x", "y", "z"))
    links = [{"namespace": "n", "name": "l" * 2_000, "type": "TABLE"} for _ in range(500)]
    event["inputs"][0]["facets"] = {"symlinks": {"identifiers": links}}
    with shop(run_filled, tmp_path) as client:
        (answer,) = send(client, event)
        assert len(answer["ignored"]) == 1
        rows = Keeping(client.services.measurements).after(WAITING, "", 100)
        sizes = sorted(len(body) for _, body in rows)
        assert len(sizes) == 9
        assert sizes[5] < 1_000
        assert sizes[-1] < 2_100 * (MOST_SYMLINKS + 1)


def test_symlink_that_no_dataset_can_be_called_is_left_out(
    tmp_path: Path, run_filled: RunFilled
) -> None:
    event = run_event(reads=("nowhere",), writes=("orders",))
    odd = [{"namespace": DUCK, "name": name, "type": "TABLE"} for name in ("", "a\0b", "x" * 3_000)]
    right = {"namespace": DUCK, "name": "shop.sales.raw_orders", "type": "TABLE"}
    event["inputs"][0]["facets"] = {"symlinks": {"identifiers": [*odd, right]}}
    with shop(run_filled, tmp_path) as client:
        (answer,) = send(client, event)
        assert (answer["edges"], answer["unresolved"]) == (1, [])


def nested(depth: int, columns: int) -> str:
    """The JSON of a `schema` whose columns lie so deep."""
    leaves = ",".join(['{"name":"a"}'] * columns)
    above = '{"name":"a","fields":[' * depth
    return f'{{"fields":[{above}{leaves}{"]}" * depth}]}}'


def test_columns_deep_inside_others_take_no_more_than_they_say() -> None:
    event: dict[str, Any] = run_event(writes=("orders",))
    event["outputs"][0]["facets"] = {"schema": 0}
    body = json.dumps(event).replace('"schema": 0', f'"schema": {nested(300, 100_000)}')
    tracemalloc.start()
    try:
        statement = statement_of(read_event(body.encode()), _NOW)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert statement.told == ("columns left out: an event may have 200,000 names",)
    assert most < 40_000_000


@pytest.mark.parametrize("number", [10_000])
def test_container_is_found_by_its_path_among_many(number: int) -> None:
    lake = Service("storageService", "lake", "S3")
    held = by_path(Container(f"lake.c{n}", "lake", f"s3://b/data/{n}") for n in range(number))
    started = time.process_time()
    for n in range(500):
        assert longest_container("s3://b", f"data/{n}/part", [lake], held) == f"lake.c{n}"
    # To compare each with all containers takes some seconds.
    assert time.process_time() - started < 0.5
