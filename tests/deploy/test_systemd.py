"""The systemd unit starts what exists, with settings that exist, hardened."""

import configparser
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from api.commands import main as catalog
from api.settings import read_settings

UNIT = Path(__file__).parents[2] / "deploy" / "catalog.service"
MOST_EXPOSURE = 20
"""Tenths, of 100: what systemd calls OK ends at 49, and the network alone is 5."""

needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed"
)


def service() -> configparser.SectionProxy:
    """The section that says what is run and how."""
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(UNIT.read_text())
    return parser["Service"]


def test_command_of_the_unit_is_accepted() -> None:
    command, *arguments = shlex.split(service()["ExecStart"])

    assert Path(command).is_absolute()
    assert Path(command).name == "catalog"
    assert arguments == ["serve"]
    assert CliRunner().invoke(catalog, [*arguments, "--help"]).exit_code == 0


def test_data_is_in_the_folder_that_the_unit_keeps() -> None:
    settings = read_settings(dict([service()["Environment"].split("=", 1)]))

    assert settings.data == f"/var/lib/{service()['StateDirectory']}"


def runnable_unit(directory: Path) -> Path:
    """A copy of the unit whose command exists on this machine."""
    copy = directory / UNIT.name
    copy.write_text(UNIT.read_text().replace("/opt/catalog/bin/catalog", sys.executable))
    return copy


@needs_systemd
def test_unit_is_understood(tmp_path: Path) -> None:
    done = analyze("verify", str(runnable_unit(tmp_path)))

    assert (done.returncode, done.stderr) == (0, "")


@needs_systemd
def test_unit_is_hardened(tmp_path: Path) -> None:
    done = analyze(
        "security", "--offline=true", f"--threshold={MOST_EXPOSURE}", str(runnable_unit(tmp_path))
    )

    assert done.returncode == 0, done.stdout[-200:]


def analyze(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run systemd-analyze to its end."""
    return subprocess.run(
        ["systemd-analyze", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
