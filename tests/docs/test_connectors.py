"""Commands and texts of the page on connectors make a bot."""

import re
import shlex
from pathlib import Path

from api.callers.policies import DEFAULT_RULES, combine, read_rules
from api.commands import main

PAGE = (Path(__file__).parents[2] / "docs" / "connectors.md").read_text()


def test_command_asks_for_the_token_of_a_bot() -> None:
    (line,) = re.findall(r"^\$ catalog (token .*)$", PAGE, re.MULTILINE)
    command, *arguments = shlex.split(line)

    context = main.commands[command].make_context(command, arguments)

    assert combine(DEFAULT_RULES, context.params["roles"]).bot


def test_rule_makes_its_role_that_of_a_bot(tmp_path: Path) -> None:
    (rule,) = re.findall(r"^```toml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    file = tmp_path / "policies.toml"
    file.write_text(rule)

    assert combine(read_rules(file), ("crawler",)).bot
