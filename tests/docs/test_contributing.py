"""Commands of the page for contributors can be run, and the changelog knows this version."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.__main__ import BENCHMARKS
from domain.release import RELEASE
from tests.depth import first_alone

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
COMMANDS = re.findall(r"^\$ (.*)$", PAGE, re.MULTILINE)
PYTEST, BENCHMARK = ".venv/bin/pytest ", ".venv/bin/python -m benchmarks "


def test_commands_are_of_the_kinds_that_are_tried() -> None:
    tried = {"make ": 3, PYTEST: 4, BENCHMARK: 1}

    assert {start: sum(line.startswith(start) for line in COMMANDS) for start in tried} == tried
    assert len(COMMANDS) == sum(tried.values())


def test_targets_are_in_the_makefile() -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    named = {line.removeprefix("make ") for line in COMMANDS if line.startswith("make ")}

    assert named <= set(targets)


SELECTING = [line.removeprefix(PYTEST).split() for line in COMMANDS if line.startswith(PYTEST)]


def test_commands_name_files_and_folders_with_tests() -> None:
    for file, *_ in SELECTING:
        named = ROOT / file
        assert named.is_file() or any(named.glob("test_*.py")), file


@pytest.mark.parametrize(
    "arguments", first_alone(*(each for each in SELECTING if each[1:])), ids=" ".join
)
def test_command_with_options_selects_tests(arguments: list[str]) -> None:
    collecting = ("--collect-only", "-q", "-p", "no:cacheprovider")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *collecting, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    if "-k" in arguments:
        assert done.stdout.count("::") == 1


def test_benchmarks_exist() -> None:
    named = [line.removeprefix(BENCHMARK) for line in COMMANDS if line.startswith(BENCHMARK)]

    assert set(named) <= set(BENCHMARKS)


def test_changelog_tells_of_this_version_and_of_what_comes() -> None:
    headings = re.findall(r"^## \[([^\]]+)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)

    assert headings[0] == "Unreleased"
    assert headings[1] == RELEASE
