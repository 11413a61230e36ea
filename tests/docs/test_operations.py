"""Every command of the operations page works, in the order in which the page has them."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.e2e.conftest import serving
from tests.replay_tool.conftest import fill

PAGE = (Path(__file__).parents[2] / "docs" / "operations.md").read_text()
COMMANDS = {"catalog": "api.commands", "catalog-replay": "replay_tool.commands"}
ADDRESS = "http://127.0.0.1:8585"


def blocks() -> list[str]:
    """The commands of each block."""
    found = re.findall(r"^```console\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    return ["\n".join(re.findall(r"^\$ (.*)$", block, re.MULTILINE)) for block in found]


def test_blocks_hold_commands_and_nothing_else() -> None:
    assert len(blocks()) > 5
    assert all(blocks())


def test_commands_of_the_page_succeed(tmp_path: Path) -> None:
    shims = tmp_path / "bin"
    shims.mkdir()
    for name, module in COMMANDS.items():
        shim = shims / name
        shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {module} "$@"\n')
        shim.chmod(0o755)
    root = str(Path(__file__).parents[2])
    environment = {
        **os.environ,
        "PATH": f"{shims}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH")))),
    }
    directory = tmp_path / "catalog-data"
    directory.mkdir()
    fill(directory)
    with serving(directory) as server:
        for commands in blocks():
            script = commands.replace(ADDRESS, str(server.http.base_url).rstrip("/"))
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", script],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
            assert done.returncode == 0, f"{commands}\n{done.stdout}{done.stderr}"
            assert done.stdout or done.stderr, commands
