"""The commands of the page on PostgreSQL move a catalog there and back, as the page has them."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

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


def digests(directory: str) -> list[Any]:
    """Return the digests of the read models of a directory, by kind, and the head of its log."""
    done = CliRunner().invoke(main, ["inspect", "--json", "--data", directory])
    assert done.exit_code == 0, done.output
    shown = json.loads(done.output)
    assert [each["lag"] for each in shown["projections"]] == [0, 0]
    return [shown["head"], *(each["kinds"] for each in shown["projections"])]


def test_commands_of_the_page_succeed(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path / "catalog-data")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CATALOG_DATA", raising=False)
    assert CliRunner().invoke(main, ["catch-up", "--data", "catalog-data"]).exit_code == 0
    held = [digests("catalog-data")]
    said = []
    for name, *words in commands():
        if name == "export":
            variable, _, url = words[0].partition("=")
            assert url.startswith("postgresql://")
            monkeypatch.setenv(variable, postgres.url(new_schema()))
        elif name == "unset":
            held.append(digests("new-data"))
            monkeypatch.delenv(words[0])
        else:
            assert name == "catalog-replay"
            done = CliRunner().invoke(main, words)
            assert done.exit_code == 0, (words, done.output)
            said.append(done.output)
    held.append(digests("file-data"))
    assert held == [held[0]] * 3
    assert held[0][0] > 0
    assert len(said) == 9
    assert [text.splitlines()[-1][:7] for text in said if "verdict" in text] == ["equal ("] * 2
