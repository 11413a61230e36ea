"""Statements of the page on OpenLineage about bounds, rules, facets and permissions are true."""

import re
from pathlib import Path

from api.answers.bodies import MAX_BODY
from api.callers.policies import combine, read_rules
from api.openlineage.answers import MOST_NAMED
from api.openlineage.bodies import MOST_VALUES
from api.openlineage.caller_rights import check_door, rights_of
from api.openlineage.door import MOST_WAITING, WAIT_SECONDS
from domain.openlineage import mapping_file
from domain.openlineage.edges import MOST_EDGES
from domain.openlineage.events import MOST_EVENTS
from domain.openlineage.keeping import RUNS, WAITING
from domain.openlineage.naming import SCHEMES
from domain.openlineage.outputs import MOST_DATASETS, MOST_MAPPINGS
from domain.openlineage.pipelines import MOST_TASKS
from domain.openlineage.quality import DEFINITION_NAME
from domain.openlineage.reading import (
    MOST_ASSERTIONS,
    MOST_FIELD_NAMES,
    MOST_MESSAGE,
    MOST_SQL,
    MOST_SYMLINKS,
)

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "openlineage.md").read_text()
FLOWING = " ".join(PAGE.split())
LIMITS = " ".join((DOCS / "limits.md").read_text().split())
POLICIES, RULES = re.findall(r"^```toml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def test_bounds_are_those_of_the_door() -> None:
    megabytes = MAX_BODY // 1_000_000
    bounds = (
        f"{MOST_DATASETS:,} datasets, {MOST_MAPPINGS:,} column mappings, {MOST_EDGES:,} edges and"
        f" {MOST_ASSERTIONS:,} assertions"
    )
    assert f"up to {bounds}" in FLOWING
    assert f"has up to {MOST_TASKS:,} tasks" in FLOWING
    assert f"more than {megabytes} MB unpacked" in FLOWING
    assert f"up to {MOST_EVENTS:,} events" in FLOWING
    assert f"{MOST_SQL:,} characters" in FLOWING
    assert f"{MOST_MESSAGE:,} characters" in FLOWING
    assert f"{MOST_NAMED} of each at most" in FLOWING
    assert f"no place for {WAIT_SECONDS:g} s" in FLOWING
    waiting = f"{WAITING.rows:,} statements in {WAITING.bytes // 1_000_000} MB"
    assert waiting in FLOWING
    assert f"{megabytes} MB unpacked, {bounds}" in LIMITS
    assert f"dataset {MOST_SYMLINKS} symlinks" in LIMITS
    assert f"{MOST_FIELD_NAMES:,} names in their paths" in LIMITS
    assert f"{MOST_VALUES:,} commas and opening brackets" in LIMITS
    assert f"each dataset {MOST_SYMLINKS} symlinks" in FLOWING
    assert f"{RUNS.rows:,} each in {RUNS.bytes // 1_000_000} MB" in LIMITS
    assert f"{MOST_WAITING} events under way" in LIMITS


def test_rules_of_the_page_can_be_read(tmp_path: Path) -> None:
    file = tmp_path / "openlineage.toml"
    file.write_text(RULES)
    rules = mapping_file.read_rules(file)
    rule = rules.of_dataset("duckdb:///srv/shop.duckdb")
    assert rule is not None
    assert (rule.service, rule.case, rule.unknown) == ("shop_duckdb", "keep", "report")
    assert rules.of_job("prod_airflow") is not None


def test_policy_of_the_page_opens_the_door_and_no_more(tmp_path: Path) -> None:
    file = tmp_path / "policies.toml"
    file.write_text(POLICIES)
    access = combine(read_rules(file), ("lineage",))
    check_door(access)
    rights = rights_of(access)
    assert (rights.describes, rights.owns, rights.columns) == (frozenset(),) * 3
    assert (rights.tests, rights.measures, rights.makes_tables) == (False, False, False)
    assert not rights.sees_all


def test_schemes_and_names_of_the_page_are_there() -> None:
    rows = re.findall(r"^\| (`.*?) \| (database|messaging|storage) \|", PAGE, re.MULTILINE)
    named = {name: kind for names, kind in rows for name in re.findall(r"`([a-z0-9]+):?`", names)}
    assert named
    for name, kind in named.items():
        assert SCHEMES[name].kind == f"{kind}Service", name
    assert f"`{DEFINITION_NAME}`" in PAGE
