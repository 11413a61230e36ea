"""The table of rules of changes in docs/contracts.md."""

import re
from pathlib import Path

from domain.contracts.changes.rules import RULES

PAGE = Path(__file__).parents[2] / "docs" / "contracts.md"


def test_the_page_has_every_rule_with_its_grades_and_an_example() -> None:
    rows = re.findall(r"^\| `([a-z.-]+)` \| (.*) \|$", PAGE.read_text(), re.MULTILINE)
    cells_of = {word: [cell.strip("* ") for cell in row.split(" | ")] for word, row in rows}
    described = {word: cells for word, cells in cells_of.items() if len(cells) == 5}

    assert all(cells[4] for cells in described.values())
    assert {word: cells[:4] for word, cells in described.items()} == {
        rule.word: [rule.change, rule.consumer, rule.producer, rule.bump] for rule in RULES.values()
    }
