"""Each contract on imports in `pyproject.toml` refuses what it forbids, wherever it is planted."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
CONTRACTS = {contract["name"] for contract in PROJECT["tool"]["importlinter"]["contracts"]}

ONE_WAY = "Imports go one way: api and replay_tool, projections, domain"
ROOMS = "Rooms of projections import downwards, and read models not each other"
CYCLES = "No two rooms or modules beside each other import each other, at any depth"
WEB = "Only the API knows the web framework, its server and the token library"
DATABASE = "Only the event store touches its database and the event sourcing library"
PAGES = "Only the pages know templates and Markdown"
WHOOSH = "Only the rooms of the search index touch Whoosh"
CLUSTER = "Only the connection to a search cluster touches its client"
YAML = "Only the room of contracts reads YAML, JSON Schema and JSON logic"
ENGINES = "The search engines do not know each other: what both use is beside them"

PLANTED = [
    ("domain/writing/recent.py", "from projections.feeding import port", ONE_WAY),
    ("projections/feeding/port.py", "from api import settings", ONE_WAY),
    ("replay_tool/options.py", "from api import settings", ONE_WAY),
    ("api/settings.py", "from replay_tool import options", ONE_WAY),
    ("projections/entities/stored_entity.py", "from projections.search import tree", ROOMS),
    ("projections/search/tree.py", "from projections.entities import cursors", ROOMS),
    ("projections/feeding/port.py", "from projections.visibility import field_paths", ROOMS),
    ("projections/made_up.py", "", ROOMS),
    (
        "projections/search/index/format/arrays.py",
        "from projections.search.index import rank",
        CYCLES,
    ),
    ("domain/errors.py", "from domain.kinds import names", CYCLES),
    ("api/settings.py", "def f():\n    from api.processes import supervisor", CYCLES),
    ("domain/writing/recent.py", "import litestar", WEB),
    ("domain/event_store/checks.py", "import cryptography.hazmat", WEB),
    ("projections/wiring/stores.py", "from uvicorn import Config", WEB),
    ("replay_tool/options.py", "import jwt", WEB),
    ("api/errors.py", "import jinja2", PAGES),
    ("api/pages/entities/entity.py", "def f():\n    from markupsafe import Markup", PAGES),
    ("api/pages/search/search.py", "import markdown_it", PAGES),
    ("projections/search/answers/highlighting.py", "import nh3", PAGES),
    ("domain/writing/recent.py", "import sqlite3", DATABASE),
    ("domain/event_store/opening.py", "import sqlite3", DATABASE),
    ("domain/event_store/checks.py", "import eventsourcing", DATABASE),
    ("domain/event_store/sqlite/log.py", "import psycopg", DATABASE),
    ("domain/kinds/bodies/enumerations.py", "def f():\n    import psycopg.rows", DATABASE),
    ("projections/feeding/projector.py", "import eventsourcing.persistence", DATABASE),
    ("projections/search/documents/documents.py", "from sqlite3 import dbapi2", DATABASE),
    ("projections/entities/cursors.py", "import sqlite3", DATABASE),
    ("projections/wiring/shared_entities.py", "import psycopg", DATABASE),
    ("api/routes/entities/reads.py", "import sqlite3", DATABASE),
    ("replay_tool/inspection.py", "import sqlite3", DATABASE),
    ("projections/search/answers/queries.py", "from whoosh.query import Term", WHOOSH),
    ("api/answers/bodies.py", "import yaml", YAML),
    ("domain/writing/recent.py", "from jsonschema_rs import validate", YAML),
    ("projections/search/language/text.py", "from whoosh import qparser", WHOOSH),
    ("domain/writing/recent.py", "import whoosh", WHOOSH),
    ("api/routes/search/searches.py", "import whoosh", WHOOSH),
    ("projections/search/opensearch/engine.py", "import opensearchpy", CLUSTER),
    ("api/routes/search/searches.py", "import urllib3", CLUSTER),
    (
        "projections/search/opensearch/leaves.py",
        "from projections.search.index.format import arrays",
        ENGINES,
    ),
]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the packages and of the contracts."""
    for package in PROJECT["tool"]["importlinter"]["root_packages"]:
        shutil.copytree(
            ROOT / package,
            tmp_path / package,
            ignore=shutil.ignore_patterns("__pycache__", "static"),
        )
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def lint(tree: Path) -> str:
    """Return what the linter prints of a tree."""
    return subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache"],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    ).stdout


def broken_contracts(report: str) -> set[str]:
    """Return the names of the contracts that a report of the linter calls broken."""
    verdicts = dict(re.findall(r"^(.+) (KEPT|BROKEN)(?: \(.*\))?$", report, re.MULTILINE))
    assert set(verdicts) == CONTRACTS, report
    return {name for name, verdict in verdicts.items() if verdict == "BROKEN"}


def test_contracts_are_kept(tree: Path) -> None:
    assert broken_contracts(lint(tree)) == set()


def test_every_contract_is_tried() -> None:
    assert {contract for _, _, contract in PLANTED} == CONTRACTS


TOGETHER = CONTRACTS - {ONE_WAY, ROOMS, CYCLES}
"""The contracts of which several planted imports break no other one, as no circle is made."""


def plant(tree: Path, module: str, statement: str) -> None:
    """Add a statement to a module of a tree."""
    with (tree / module).open("a") as file:
        file.write(f"\n{statement}\n")


def alone() -> Iterator[Any]:
    """Give the imports that are planted alone; `make test` tries the first of each contract."""
    for contract in (ONE_WAY, ROOMS, CYCLES):
        first, *others = (each for each in PLANTED if each[2] == contract)
        yield first
        yield from (pytest.param(*each, marks=pytest.mark.deep) for each in others)


@pytest.mark.parametrize(("module", "statement", "contract"), [*alone()])
def test_planted_import_breaks_its_contract(
    tree: Path, module: str, statement: str, contract: str
) -> None:
    plant(tree, module, statement)

    assert broken_contracts(lint(tree)) == {contract}


@pytest.mark.parametrize("contract", sorted(TOGETHER))
def test_planted_imports_break_their_contract(tree: Path, contract: str) -> None:
    planted = [(module, statement) for module, statement, name in PLANTED if name == contract]
    for module, statement in planted:
        plant(tree, module, statement)

    report = lint(tree)

    assert broken_contracts(report) == {contract}
    names = [module.removesuffix(".py").replace("/", ".") for module, _ in planted]
    assert [name for name in names if f"{name} ->" not in report] == []
