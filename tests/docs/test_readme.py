"""Settings, commands and parameters are documented, and the links of the pages lead somewhere."""

import re
from pathlib import Path

import click
import msgspec
import pytest

from api.callers.policies import DEFAULT_RULES
from api.commands import main as catalog
from api.settings import Settings
from domain.kinds.registry import KINDS
from replay_tool.commands import main as replay
from tests.docs.blocks import PAGES

ROOT = Path(__file__).parents[2]
API = (ROOT / "docs" / "api.md").read_text()
COMMANDS = (ROOT / "docs" / "commands.md").read_text()
PERMISSIONS = (ROOT / "docs" / "permissions.md").read_text()
SETTINGS = (ROOT / "docs" / "settings.md").read_text()
WRITTEN = (*PAGES, "CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/README.md")
"""The pages whose blocks of commands are typed, and the others."""
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text()


def anchors(page: Path) -> set[str]:
    """The names by which links lead to the headings of a page."""
    prose = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


def test_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120


def test_architecture_is_short_and_names_modules_that_exist() -> None:
    modules = [path.as_posix() for path in ROOT.glob("[a-z]*/**/*.py")]

    assert len(ARCHITECTURE.split()) <= 3_000
    for named in re.findall(r"`([\w/]+\.py)`", ARCHITECTURE):
        assert any(module.endswith(f"/{named}") for module in modules), named


@pytest.mark.parametrize("field", [field.name for field in msgspec.structs.fields(Settings)])
def test_setting_is_documented_with_its_default(field: str) -> None:
    rows = [line for line in SETTINGS.splitlines() if f"`CATALOG_{field.upper()}`" in line]
    rows = [row for row in rows if row.startswith("| ")]
    default = getattr(Settings(), field)
    shown = f"{default:g}" if isinstance(default, float) else str(default)
    shown = shown.lower() if isinstance(default, bool) else shown

    assert len(rows) == 1
    assert default is None or f"`{shown}`" in rows[0]


@pytest.mark.parametrize(("group", "name"), [(catalog, "catalog"), (replay, "catalog-replay")])
def test_command_and_its_options_are_documented(group: click.Group, name: str) -> None:
    for command in group.commands.values():
        if command.hidden:
            continue
        rows = [
            line for line in COMMANDS.splitlines() if line.startswith(f"| `{name} {command.name}`")
        ]
        assert len(rows) == 1, command.name
        assert command.help
        for parameter in command.params:
            assert not isinstance(parameter, click.Option) or parameter.help


def test_commands_whose_help_has_exit_codes_are_named() -> None:
    paragraph = re.search(r"^The exit code is 0 .*?No help has these", COMMANDS, re.M | re.S)
    assert paragraph is not None
    named = set(re.findall(r"`([a-z][a-z-]*)`", paragraph[0]))
    own = {
        command.name
        for group in (catalog, replay)
        for command in group.commands.values()
        if "exit code" in (said := _help_of(command).lower()) and "exit code 0 then" not in said
    }

    assert named == own


def _help_of(command: click.Command) -> str:
    options = [each.help for each in command.params if isinstance(each, click.Option)]
    return " ".join(filter(None, [command.help, *options]))


def test_collections_and_roles_are_documented() -> None:
    services = re.search(r"`services/\{([a-z,]+)\}Services`", API)
    assert services is not None
    named = {f"services/{name}Services" for name in services[1].split(",")}
    named |= set(re.findall(r"`([A-Za-z/]+)`", API))
    roles = set(re.findall(r"^\| `([a-z]+)` \|", PERMISSIONS, re.MULTILINE))

    assert {kind.collection for kind in KINDS.values()} <= named
    assert {rule.role for rule in DEFAULT_RULES} <= roles


def test_dependencies_have_their_reason() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    runtime = re.search(r"^dependencies = \[(.*?)\]", project, re.DOTALL | re.MULTILINE)
    assert runtime is not None

    for name in re.findall(r'"([a-z-]+)(?:\[[a-z]+\])?[><=]', runtime[1]):
        assert re.search(rf"^\| .*\b{name}\b", ARCHITECTURE, re.MULTILINE), name


@pytest.mark.parametrize("page", WRITTEN)
def test_files_that_a_page_names_exist(page: str) -> None:
    text = (ROOT / page).read_text()
    for folder, file in re.findall(
        r"`((?:domain|projections|api|replay_tool|tests|benchmarks|docs|deploy)/)([\w/.]*)`", text
    ):
        assert (ROOT / folder / file).exists(), folder + file


@pytest.mark.parametrize("page", WRITTEN)
def test_links_of_a_page_lead_to_files_and_headings(page: str) -> None:
    path = ROOT / page
    for file, heading in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", path.read_text()):
        target = path.parent / file if file else path
        assert target.exists(), file
        assert not heading or heading in anchors(target), f"{file}#{heading}"
