"""Blocks of commands in the pages print what they show, typed on the sample of `make run`.

What a test cannot type says why in a comment before it, and what it needs stands in its commands.
"""

import doctest
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import pytest
import yaml

from api.commands import main as catalog_commands
from replay_tool.commands import main as replay_commands
from tests.docs.blocks import PAGES, ROOT, Block, blocks, commands, is_as_printed
from tests.e2e.conftest import Server, catalog, run, serving
from tests.e2e.forked import origin

ADDRESS = "http://127.0.0.1:8585"
GROUPS: dict[str, click.Group] = {"catalog": catalog_commands, "catalog-replay": replay_commands}
MODULES = {"catalog": "api.commands", "catalog-replay": "replay_tool.commands"}
REASONS = {
    "installs packages": r"\b(make (run|test)|pip install)\b",
    "needs Docker": r"\bdocker compose\b",
    "needs systemd": r"\b(systemd-run|systemctl)\b",
    "needs PostgreSQL": r"\bCATALOG_DATABASE_URL\b",
    "needs OpenSearch": r"(?i)opensearch",
    "needs another server": r"\bcatalog serve\b",
    "needs dbt-ol": r"\bdbt-ol build\b",
    "needs datacontract-cli": r"\bdatacontract (test|breaking)\b",
}
"""Reasons why blocks are not typed, and what then stands in them; PostgreSQL's are tested apart."""
LANGUAGES = {"console", "python", "jsonl", "toml", "yaml", "ini", "text"}
BLOCKS = [block for page in PAGES for block in blocks(page)]
TYPED = [
    page
    for page in PAGES
    if any(block.language == "console" and block.reason is None for block in blocks(page))
]
MARK = "@@ the next command"
PROGRAM = """#!{python} -IS
import json, os, socket, sys

said, say = os.pipe()
command = ["{module}", *sys.argv[1:]]
request = json.dumps([command, dict(os.environ), os.getcwd(), 0]).encode()
with socket.socket(fileno=int(os.environ["FORKED"])) as origin:
    socket.send_fds(origin, [request], [1, 2, say, 0])
os.close(say)
with os.fdopen(said) as said:
    pid, code = said
sys.exit(int(code))
"""
"""Stand-in for a program: it has itself forked, as an interpreter that imports it takes longer than
what most commands do; `tests.e2e.forked` tells of the request.
"""


@dataclass(frozen=True)
class World:
    """A server over the sample, and the folder and variables of who types."""

    server: Server
    folder: Path
    environment: dict[str, str]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("typed")
    data, sample = folder / "catalog-data", folder / "sample.jsonl"
    making = re.search(r"benchmarks\.generate (\d+)", (ROOT / "Makefile").read_text())
    assert making is not None
    sample.write_text(run("benchmarks.generate", making[1]).stdout)
    assert catalog("import", "--data", str(data), str(sample)).returncode == 0
    assert run("benchmarks.draw_lineage", "--data", str(data), str(sample)).returncode == 0
    (folder / "docs").symlink_to(ROOT / "docs")
    programs = folder / "bin"
    programs.mkdir()
    for name, module in MODULES.items():
        program = programs / name
        program.write_text(PROGRAM.format(python=sys.executable, module=module))
        program.chmod(0o755)
    with serving(data) as server:
        token = server.http.headers["Authorization"].removeprefix("Bearer ")
        environment = {
            **os.environ,
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))),
            "CATALOG_DATA": str(data),
            "TOKEN": token,
            "FORKED": str(origin().fileno()),
        }
        yield World(server, folder, environment)


def test_every_block_is_of_a_kind_that_is_tried() -> None:
    assert {block.language for block in BLOCKS} <= LANGUAGES
    fences = [line for page in PAGES for line in (ROOT / page).read_text().splitlines()]
    assert sum(line.startswith("```") for line in fences) == 2 * len(BLOCKS)


def test_commands_stand_between_fences() -> None:
    prompts = [
        (page, line)
        for page in PAGES
        for line in re.sub(r"^```.*?^```$", "", (ROOT / page).read_text(), flags=re.M | re.S).split(
            "\n"
        )
        if re.match(r"( {4}|\$ )(\$|catalog|catalog-replay|curl|docker|make|pip) ", line)
    ]
    assert prompts == []


@pytest.mark.parametrize(
    "block",
    [block for block in BLOCKS if block.reason],
    ids=lambda block: f"{block.page}:{block.line}",
)
def test_block_that_is_not_typed_needs_what_it_says(block: Block) -> None:
    assert block.reason is not None
    assert block.language == "console"
    assert re.search(REASONS[block.reason], block.text)
    for command in commands(block):
        found = re.findall(
            r"(?:^|[\s/])(catalog|catalog-replay) (?!catalog)([a-z-]+)", command.text
        )
        assert [word for name, word in found if word not in GROUPS[name].commands] == []


@pytest.mark.parametrize("page", [*{block.page for block in BLOCKS if block.language == "python"}])
def test_python_of_a_page_gives_what_it_shows(world: World, page: str) -> None:
    """Typed by another process, as in a notebook beside the server."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "doctest", str(ROOT / page)],
        cwd=world.folder,
        env=world.environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    python = [block for block in blocks(page) if block.language == "python"]
    # Without the empty line the end of the block would be taken for a part of a result.
    assert all(block.text.endswith("\n\n") for block in python)
    assert all(doctest.DocTestParser().get_examples(block.text) for block in python)


@pytest.mark.parametrize("page", TYPED)
def test_commands_of_a_page_print_what_it_shows(world: World, page: str) -> None:
    typed = [
        command
        for block in blocks(page)
        if block.language == "console" and block.reason is None
        for command in commands(block)
    ]
    script = "".join(f"{command.text}\necho '{MARK}'\n" for command in typed)
    address = str(world.server.http.base_url).rstrip("/")
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "exec 2>&1\n" + script.replace(ADDRESS, address)],
        cwd=world.folder,
        env=world.environment,
        pass_fds=[origin().fileno()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    *printed, end = done.stdout.split(f"{MARK}\n")
    assert (len(printed), end) == (len(typed), "")
    for command, text in zip(typed, printed, strict=True):
        shown = command.printed.replace(ADDRESS, address)
        assert not shown or is_as_printed(text, shown), f"{command.text}\n{text}"


@pytest.mark.parametrize(
    "block",
    [block for block in BLOCKS if block.language in ("toml", "yaml", "ini")],
    ids=lambda block: f"{block.page}:{block.line}",
)
def test_file_that_a_page_shows_can_be_read(block: Block) -> None:
    if block.language == "toml":
        assert tomllib.loads(block.text)
    elif block.language == "yaml":
        assert yaml.safe_load(block.text)
    else:
        assert all(re.match(r"CATALOG_\w+=\S", line) for line in block.text.splitlines())


@pytest.mark.parametrize("page", PAGES)
def test_commands_named_in_a_page_are_there(page: str) -> None:
    text = (ROOT / page).read_text()
    named = re.findall(r"`(catalog|catalog-replay) ([a-z][a-z-]+)", text)
    assert [(name, word) for name, word in named if word not in GROUPS[name].commands] == []
    # A list of commands that stands in brackets after the name of the program.
    for listed in re.findall(r"tools of `catalog-replay`[^(]*\(([^)]*)\)", text):
        for word in re.findall(r"`([a-z-]+)`", listed):
            options = {each.name for each in replay_commands.commands[word].params}
            assert "search_url" in options, word


@pytest.mark.parametrize("page", PAGES)
def test_page_names_no_release_that_is_not_there(page: str) -> None:
    assert re.findall(r"pip install [^`]*metadata-catalog\b", (ROOT / page).read_text()) == []


@pytest.mark.parametrize(
    ("printed", "page", "same"),
    [
        ('{"a": 1}\n', '{"a":\n1}', True),
        ('{"a": 17}', '{"a": …}', True),
        ('{"a": 17}', '{"a": 1}', False),
        ("token 1, and more", "token …", True),
        ("no token", "token …", False),
    ],
)
def test_difference_of_what_is_printed_is_noticed(printed: str, page: str, same: bool) -> None:
    assert is_as_printed(printed, page) is same
