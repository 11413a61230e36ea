"""The help of both commands can be read on a terminal of 80 columns."""

import click
import pytest
from click.testing import CliRunner

from api.commands import main as catalog
from replay_tool.commands import main as replay

COMMANDS = [
    (group, name)
    for group in (catalog, replay)
    for name in (None, *group.commands)
    if name is None or not group.commands[name].hidden
]


@pytest.mark.parametrize(("group", "name"), COMMANDS)
def test_help_breaks_no_word_and_no_sentence(group: click.Group, name: str | None) -> None:
    arguments = [name, "--help"] if name else ["--help"]
    shown = CliRunner().invoke(group, arguments, terminal_width=80).output
    usage, _, rest = shown.partition("\n\n")

    assert usage.startswith("Usage: ")
    assert all(len(line) <= 80 for line in shown.splitlines())
    # So a sentence ends that was cut off.
    assert "..." not in rest
    # A list of choices has no space to be broken at.
    assert not [word for word in usage.split() if word.count("|") > 5]
