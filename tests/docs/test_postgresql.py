"""The commands of the page on PostgreSQL move a catalog there and back, as the page has them."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks.postgres_server import PostgresServer, new_schema
from replay_tool.commands import main
from tests.replay_tool.conftest import fill

PAGE = (Path(__file__).parents[2] / "docs" / "postgresql.md").read_text()


def commands() -> list[list[str]]:
    """The words of each command, in the order of the page."""
    blocks = re.findall(r"^```console\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    return [shlex.split(line.removeprefix("$ ")) for block in blocks for line in block.splitlines()]


def test_commands_of_the_page_succeed(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path / "catalog-data")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CATALOG_DATA", raising=False)
    said = []
    for name, *words in commands():
        if name == "export":
            variable, _, url = words[0].partition("=")
            assert url.startswith("postgresql://")
            monkeypatch.setenv(variable, postgres.url(new_schema()))
        elif name == "unset":
            monkeypatch.delenv(words[0])
        else:
            assert name == "catalog-replay"
            done = CliRunner().invoke(main, words)
            assert done.exit_code == 0, (words, done.output)
            said.append(done.output)
    assert len(said) == 9
    assert [text.splitlines()[-1][:7] for text in said if "verdict" in text] == ["equal ("] * 2
