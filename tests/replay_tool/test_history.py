"""`catalog-replay history`: versions for people and for machines, and an entity as it was."""

import json
from pathlib import Path

import pytest

from tests.e2e.conftest import replay
from tests.replay_tool.conftest import ORDERS


def test_history_tells_who_changed_which_field(built: Path) -> None:
    done = replay("history", "table", ORDERS, "--data", str(built))

    assert done.returncode == 0
    rows = [
        [cell.strip() for cell in line.strip("│┃ ").split("│")]
        for line in done.stdout.splitlines()
        if " r" in line and "│" in line
    ]
    assert [(row[0], *row[2:]) for row in rows] == [
        ("0.1", "ann", "r4", "created"),
        ("0.2", "ann", "r5", "+ columns.id.description: the key"),
        ("0.3", "ann", "r6", "+ description: all orders"),
    ]


def test_history_for_machines(built: Path) -> None:
    done = replay("history", "table", ORDERS, "--json", "--data", str(built))

    created, second, third = json.loads(done.stdout)
    assert "changeDescription" not in created
    assert second["changeDescription"]["fieldsAdded"] == [
        {"name": "columns.id.description", "newValue": "the key"}
    ]
    assert (third["version"], third["actor"], third["requestId"]) == (0.3, "ann", "r6")
    assert third["eventTypes"] == ["entity.changed"]
    assert third["streamVersion"] == 3


def test_entity_as_it_was(built: Path) -> None:
    done = replay("history", "table", ORDERS, "--at", "0.2", "--data", str(built))

    shown = json.loads(done.stdout)
    assert (shown["version"], shown["columns"][0]["description"]) == (0.2, "the key")
    assert "description" not in shown
    assert shown["changeDescription"]["previousVersion"] == 0.1


def test_purged_entity_is_found_by_the_name_it_had(built: Path) -> None:
    done = replay("history", "table", "shop.db.sales.gone", "--json", "--data", str(built))

    created, purged = json.loads(done.stdout)
    assert created["eventTypes"] == ["entity.created"]
    assert (purged["eventTypes"], purged["actor"]) == (["entity.purged"], "bob")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("king", "x"), "'king' is not one of"),
        (("table", "nowhere"), "no table holds the name 'nowhere', or ever held it"),
        (("table", ORDERS, "--at", "9.9"), "--at must be one of 0.1, 0.2, 0.3, got '9.9'"),
    ],
)
def test_wrong_use_is_explained(built: Path, arguments: tuple[str, ...], said: str) -> None:
    done = replay("history", *arguments, "--data", str(built))

    assert (done.returncode, said in done.stderr) == (2, True), done.stderr
