"""Statements of the page on lineage about bounds, keys and permissions are true."""

import re
from pathlib import Path

from api.callers.permissions import Action, Permission
from api.callers.policies import DEFAULT_RULES, combine, read_rules
from api.routes.lineage.reads import MAX_DEPTH
from domain.edges import DETAIL_KEYS, EDGE
from projections.entities.lineage import Bounds

PAGE = (Path(__file__).parents[2] / "docs" / "lineage.md").read_text()
FLOWING = " ".join(PAGE.split())


def test_bounds_are_those_of_the_walk() -> None:
    seconds = {0.5: "half a second"}[Bounds.most_seconds]
    bounds = f"{Bounds.most_shown:,} edges and {Bounds.most_bytes // 1_000_000} MB of them are read"
    assert f"{bounds}, for {seconds}" in FLOWING
    assert f"0 to {MAX_DEPTH}, 1 by default" in FLOWING


def test_details_are_all_named() -> None:
    written = [key for key in DETAIL_KEYS if not key.endswith(("At", "By"))]
    assert [key for key in written if f"`{key}`" not in PAGE] == []


def test_rule_of_the_page_withholds_the_code_of_edges(tmp_path: Path) -> None:
    (kinds, withhold) = re.findall(r"`((?:kinds|withhold) = \[[^]]*\])`", PAGE)
    file = tmp_path / "policies.toml"
    file.write_text(f'[[rule]]\nrole = "r"\nallow = ["view"]\n{kinds}\n{withhold}\n')
    withheld = combine(read_rules(file), ("r",)).withheld(Action.VIEW, EDGE)
    assert withheld is not None
    assert withheld.paths == {"sqlQuery"}


def test_built_in_roles_have_the_lineage() -> None:
    for rule in DEFAULT_RULES:
        if rule.allow == (Action.METRICS,):
            continue
        assert combine(DEFAULT_RULES, (rule.role,)).may(Permission(Action.VIEW, EDGE)), rule.role
