"""`catalog-replay verify`: exit codes, and what it says to people and to machines."""

import json
import threading
from contextlib import closing
from pathlib import Path

import pytest

from domain.reading.utc_times import in_utc
from projections.entities.sqlite.model import open_read_model
from tests.e2e.conftest import Server, replay, serving
from tests.replay_tool.conftest import ORDERS, edit
from tests.waiting import until


@pytest.mark.parametrize(
    ("what", "names"),
    [
        ((), ["entities", "search"]),
        (("all",), ["entities", "search"]),
        (("entities",), ["entities"]),
        (("search",), ["search"]),
        (("log",), []),
    ],
)
def test_whole_catalog_is_equal(built: Path, what: tuple[str, ...], names: list[str]) -> None:
    done = replay("verify", *what, "--json", "--data", str(built))

    found = json.loads(done.stdout)
    assert (done.returncode, found["verdict"]) == (0, "equal")
    assert [(p["name"], p["verdict"], p["position"]) for p in found["projections"]] == [
        (name, "equal", 8) for name in names
    ]
    assert (found["log"]["head"], found["log"]["events"], found["seed"]) == (8, 8, None)


def test_changed_row_is_shown_and_exits_with_1(data: Path) -> None:
    statement = (
        "UPDATE entities SET core = replace(core, 'all orders', 'none') WHERE name = 'orders'"
    )
    edit(data / "entities-1.db", statement)

    done = replay("verify", "--data", str(data))

    assert done.returncode == 1
    said = done.stdout.splitlines()
    place = next(at for at, line in enumerate(said) if line.startswith("entities: different"))
    assert said[place].startswith(f"entities: different: table {ORDERS} ")
    assert said[place + 1] == '    description: log "all orders", model "none"'
    assert said[-1].startswith("differs (")


def test_past_that_is_not_kept_is_told_with_what_brings_it_back(data: Path) -> None:
    with closing(open_read_model(data / "entities-1.db")) as model:
        at = model.prune(3, 100).at

    done = replay("verify", "--data", str(data))

    kept = "entities: the past is kept from position 3 on, which is of"
    told = [line for line in done.stdout.splitlines() if line.startswith(kept)]
    assert len(told) == 1
    assert f" {in_utc(at):%Y-%m-%d %H:%M} UTC. " in told[0]
    assert "CATALOG_HISTORY_DAYS" in told[0]
    assert (done.returncode, "search: the past" in done.stdout) == (0, False)
    _, _, advice = told[0].partition("catalog-replay ")
    command, _, _ = advice.partition(" brings back")
    assert "rebuilt, generation 2" in replay(*command.split(), "--data", str(data)).stdout
    assert "the past is kept" not in replay("verify", "--data", str(data)).stdout


SPOILED = {
    "different": "UPDATE entities SET core = replace(core, 'all orders', 'none')",
    "missing": "DELETE FROM entities WHERE name = 'orders'",
    "counter": "UPDATE counters SET n = n + 1",
    "digest": "UPDATE digests SET n = n + 1",
}


@pytest.mark.parametrize(("sort", "statement"), SPOILED.items(), ids=list(SPOILED))
def test_what_verify_names_is_mended_by_the_rebuild_it_recommends(
    data: Path, sort: str, statement: str
) -> None:
    edit(data / "entities-1.db", statement)

    before = replay("verify", "entities", "--json", "--data", str(data))
    rebuilt = replay("rebuild", "--data", str(data))
    after = replay("verify", "--data", str(data))

    (proof,) = json.loads(before.stdout)["projections"]
    assert (before.returncode, sort in proof["found"]) == (1, True)
    assert rebuilt.returncode == 0, rebuilt.stderr
    assert [line.partition(",")[0] for line in rebuilt.stdout.splitlines()] == [
        "entities: rebuilt",
        "search: unchanged",
    ]
    assert after.returncode == 0, after.stdout


def test_sides_of_a_difference_are_named(data: Path) -> None:
    edit(data / "entities-1.db", "UPDATE digests SET n = n + 1 WHERE kind = 'table'")
    edit(data / "entities-1.db", "UPDATE counters SET n = 7 WHERE kind = 'database'")

    said = replay("verify", "entities", "--data", str(data)).stdout.splitlines()

    assert "    count: stored 1, kept while writing 2" in said
    assert "    n: entities 1, lists 7" in said


def test_lost_claim_is_shown_at_its_position(data: Path) -> None:
    edit(data / "events.db", "DELETE FROM claims WHERE name = 'orders'")

    assert replay("verify", "entities", "--data", str(data)).returncode == 0
    done = replay("verify", "log", "--data", str(data))

    assert done.returncode == 1
    assert f"log at position 6: the claim on table '{ORDERS}' is missing (entity " in done.stdout
    assert ("1 problem" in done.stdout, "1 problems" in done.stdout) == (True, False)


def test_tampered_event_is_told_by_what_was_made_of_it_before(data: Path) -> None:
    statement = (
        "UPDATE stored_events SET state = CAST(replace(state, 'all orders', 'no orders') AS BLOB)"
        " WHERE rowid = 6"
    )
    edit(data / "events.db", statement)

    found = json.loads(replay("verify", "--json", "--data", str(data)).stdout)

    assert found["verdict"] == "differs"
    assert [[d["sort"] for d in p["differences"]] for p in found["projections"]] == [
        ["different"],
        ["different"],
    ]


def test_read_model_that_is_not_built_cannot_be_told(data: Path) -> None:
    (data / "entities.json").unlink()

    done = replay("verify", "--data", str(data))

    assert done.returncode == 2
    assert "entities" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("unknown (")


def test_damaged_index_file_is_named(data: Path) -> None:
    file = max((data / "search-1").glob("*"), key=lambda path: path.stat().st_size)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)

    done = replay("verify", "search", "--data", str(data))

    assert done.returncode in (1, 2)
    assert file.name in done.stdout


def test_damaged_page_of_the_sorted_model_is_told(data: Path) -> None:
    file = data / "entities-1.db"
    content = bytearray(file.read_bytes())
    page = 16_384
    content[page : 4 * page] = b"\xff" * (3 * page)
    file.write_bytes(content)

    done = replay("verify", "entities", "--data", str(data))

    assert done.returncode == 1
    assert "malformed" in done.stdout


def test_sample_tells_its_seed(built: Path) -> None:
    done = replay("verify", "--sample", "3", "--seed", "42", "--data", str(built))

    assert done.returncode == 0
    assert "a sample only; --seed 42 draws it again" in done.stdout


def test_log_is_held_against_an_export(data: Path, tmp_path: Path) -> None:
    file = str(tmp_path / "log.ndjson.gz")
    assert replay("export", file, "--data", str(data)).returncode == 0
    against = ("verify", "log", "--against", file, "--data", str(data))
    assert replay(*against).returncode == 0

    edit(data / "events.db", "DELETE FROM stored_events WHERE rowid > 6")
    edit(data / "events.db", "UPDATE sqlite_sequence SET seq = 6 WHERE name = 'stored_events'")
    done = replay(*against)

    assert done.returncode == 1
    said = "position 7: the log ends before it, the export has an event there"
    assert f"log: {file}: {said}" in done.stdout


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("log.ndjson", "line 5: the trailer is missing: the file was cut off"),
        ("log.ndjson.gz", "cannot be read to its end: Compressed file ended before"),
    ],
)
def test_export_that_was_cut_off_is_no_evidence(
    built: Path, tmp_path: Path, name: str, said: str
) -> None:
    file = tmp_path / name
    assert replay("export", str(file), "--data", str(built)).returncode == 0
    file.write_bytes(file.read_bytes()[: 2_000 if name.endswith("json") else 500])

    done = replay("verify", "log", "--against", str(file), "--data", str(built))

    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"error: {file}")
    assert said in line


def test_writes_of_a_running_server_raise_no_alarm(data: Path) -> None:
    stopping = threading.Event()
    written: list[str] = []

    def write(server: Server) -> None:
        while not stopping.is_set():
            name = f"s{len(written)}"
            made = server.post("/v1/services/databaseServices", name=name, serviceType="Mysql")
            written.append(made["id"])
            patch = [{"op": "add", "path": "/description", "value": name}]
            path = f"/v1/services/databaseServices/{made['id']}"
            assert server.http.patch(path, json=patch).status_code == 200

    done = []
    with serving(data) as server:
        writer = threading.Thread(target=write, args=(server,))
        writer.start()
        try:
            for _ in range(3):
                before = len(written)
                until(lambda before=before: len(written) > before)
                done.append(replay("verify", "--json", "--data", str(data)))
        finally:
            stopping.set()
            writer.join()

    found = [json.loads(each.stdout) for each in done]
    assert [(f["verdict"], len(f["projections"])) for f in found] == [("equal", 2)] * 3
    heads = [f["log"]["head"] for f in found]
    # Eight events were there; 34 are what the first start of a server makes.
    assert 42 < heads[0] < heads[1] < heads[2] <= 42 + 2 * len(written)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("everything",), "'everything' is not one of 'entities', 'search', 'log', 'all'"),
        (("--sample", "0"), "0 is not in the range"),
        (("--seed", "1"), "--seed is for a --sample"),
        (("search", "--against", "x"), "--against compares the log"),
        (("log", "--against", "missing"), "No such file"),
        (("--data", "nowhere"), "holds no catalog"),
    ],
)
def test_wrong_use_exits_with_2(built: Path, arguments: tuple[str, ...], said: str) -> None:
    data = () if "--data" in arguments else ("--data", str(built))
    done = replay("verify", *arguments, *data)

    assert (done.returncode, said in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize("digits", ["9", "999"])
def test_events_of_a_time_to_come_are_told_as_a_fault_of_a_clock(data: Path, digits: str) -> None:
    """As in a log that was written by a host whose clock was years ahead, or beyond year 9999."""
    edit(
        data / "events.db",
        f"UPDATE stored_events SET state = CAST(replace(state, '\"at\":', '\"at\":{digits}') AS"
        " BLOB) WHERE rowid = (SELECT max(rowid) FROM stored_events)",
    )

    done = replay("verify", "log", "--data", str(data))
    found = json.loads(replay("verify", "log", "--json", "--data", str(data)).stdout)

    assert done.returncode == 0
    assert (
        "clock: the log has 1 event dated more than a day in the future, the first at"
        in done.stdout
    )
    assert (found["log"]["verdict"], found["log"]["future"]["count"]) == ("equal", 1)
