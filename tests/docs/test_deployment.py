"""The commands that the deployment page runs in a container or beside the service work."""

import re
import shlex
from itertools import dropwhile
from pathlib import Path

import pytest
import yaml

from tests.e2e.conftest import run
from tests.replay_tool.conftest import fill

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "deployment.md").read_text()
COMPOSE = ROOT / "deploy" / "compose-one-host.yaml"
UNIT = (ROOT / "deploy" / "catalog.service").read_text().splitlines()
(EXECUTED,) = (line.partition("=")[2] for line in UNIT if line.startswith("ExecStart="))
MODULES = {"catalog": "api.commands", "catalog-replay": "replay_tool.commands"}
CONTAINER = "docker compose --file deploy/compose-one-host.yaml "
INSIDE = CONTAINER + "exec -T catalog "
TYPED = re.findall(r"^\$ (.*)$", PAGE, re.MULTILINE)
LINES = [line for line in TYPED if line.startswith((CONTAINER, "systemd-run "))]


def command_of(line: str) -> list[str]:
    """The command that a line runs in the container, or as the user of the service."""
    words = shlex.split(line.removeprefix(INSIDE).partition(" > ")[0])
    if words[0] == "systemd-run":
        words = list(dropwhile(lambda word: word.startswith("--"), words[1:]))
    return words


def test_compose_commands_name_the_file_and_its_service() -> None:
    services = list(yaml.safe_load(COMPOSE.read_text())["services"])
    docker = [line for line in LINES if line.startswith("docker ")]

    assert services == ["catalog"]
    assert [line for line in docker if not line.startswith(INSIDE)] == [
        CONTAINER + "up --detach --build"
    ]


def test_commands_beside_the_service_run_as_the_unit_does() -> None:
    beside = [line for line in LINES if line.startswith("systemd-run ")]
    directory = Path(shlex.split(EXECUTED)[0]).parent

    assert len(beside) == 2
    for line in beside:
        assert Path(command_of(line)[0]).parent == directory
        words = shlex.split(line)
        properties = [word.split("=", 1)[1] for word in words if word.startswith("--property=")]
        properties += [f"Environment={word[9:]}" for word in words if word.startswith("--setenv=")]
        assert set(properties) <= set(UNIT)
        assert {text.split("=")[0] for text in properties} == {
            "DynamicUser",
            "User",
            "StateDirectory",
            "Environment",
        }


@pytest.mark.parametrize("line", [line for line in LINES if not line.endswith("--build")])
def test_command_of_the_catalog_succeeds(line: str, tmp_path: Path) -> None:
    """Run what stands after the engine's or the manager's own words on a small catalog."""
    name, *arguments = command_of(line)
    fill(tmp_path)

    done = run(MODULES[Path(name).name], *arguments, CATALOG_DATA=str(tmp_path))

    assert done.returncode == 0, done.stderr
    assert done.stdout
