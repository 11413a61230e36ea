"""The wheel, installed beside nothing but what it requires, does what the checkout does."""

import importlib.metadata
import os
import subprocess
import sys
import venv
from collections.abc import Iterator
from email.parser import HeaderParser
from importlib.metadata import Distribution
from pathlib import Path

import httpx
import msgspec
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from domain.release import RELEASE, UNKNOWN, commit
from tests.e2e.conftest import Server, until_ready

ROOT = Path(__file__).parents[1]
NAME = "metadata-catalog"
NO_NETWORK = ("--quiet", "--disable-pip-version-check", "--no-deps", "--no-index")


class Installation:
    """A virtual environment that holds the wheel, in which no file of the checkout is found."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.binaries = directory / "bin"
        (self.packages,) = directory.glob("lib/python3*/site-packages")

    def environment(self) -> dict[str, str]:
        """Our environment without what could lead Python to the checkout."""
        return {
            "PATH": f"{self.binaries}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self.directory),
            "PYTHONUNBUFFERED": "1",
        }

    def run(self, *command: str) -> str:
        """The output of a command that succeeds, run in a folder that holds no module."""
        name, *arguments = command
        done = subprocess.run(
            [self.binaries / name, *arguments],
            cwd=self.directory,
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def pip(*arguments: str) -> None:
    """Run pip to its end; it may not ask the network."""
    subprocess.run([sys.executable, "-m", "pip", *arguments], check=True, timeout=120)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    directory = tmp_path_factory.mktemp("wheel")
    pip("wheel", *NO_NETWORK, "--no-build-isolation", "--wheel-dir", str(directory), str(ROOT))
    (made,) = directory.iterdir()
    return made


@pytest.fixture(scope="module")
def installation(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """The wheel, installed as `pip install` does, beside links to what it requires."""
    directory = tmp_path_factory.mktemp("installation")
    venv.create(directory, with_pip=False)
    made = Installation(directory)
    pip("--python", str(made.binaries / "python"), "install", *NO_NETWORK, str(wheel))
    (installed,) = importlib.metadata.distributions(name=NAME, path=[str(made.packages)])
    for distribution in required(installed).values():
        for source in top_level(distribution):
            (made.packages / source.name).symlink_to(source)
    return made


def required(
    distribution: Distribution, extras: frozenset[str] = frozenset()
) -> dict[str, Distribution]:
    """The distributions that one requires, and those that they require: name -> distribution."""
    result: dict[str, Distribution] = {}
    waiting = [(distribution, extras)]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        current, extras = waiting.pop()
        for text in current.requires or ():
            requirement = Requirement(text)
            marker = requirement.marker
            if marker and not any(marker.evaluate({"extra": extra}) for extra in (*extras, "")):
                continue
            name, wanted = canonicalize_name(requirement.name), frozenset(requirement.extras)
            if (name, wanted) not in seen:
                seen.add((name, wanted))
                result[name] = importlib.metadata.distribution(requirement.name)
                waiting.append((result[name], wanted))
    return result


def top_level(distribution: Distribution) -> Iterator[Path]:
    """The files and folders that a distribution has directly in the folder of packages."""
    names = {file.parts[0] for file in distribution.files or ()} - {"..", "__pycache__"}
    assert names, distribution.name
    return (Path(str(distribution.locate_file(name))) for name in sorted(names))


@pytest.fixture
def server(installation: Installation, tmp_path: Path) -> Iterator[Server]:
    """A server of the installation, whose catalog holds one imported database service."""
    data = str(tmp_path / "data")
    lines = tmp_path / "lines.jsonl"
    line = {"entityType": "databaseService", "name": "shop", "serviceType": "Mysql"}
    lines.write_bytes(msgspec.json.encode(line))
    printed = installation.run("catalog", "import", "--data", data, str(lines))
    assert printed.startswith("1 lines: 1 created, 0 changed, 0 unchanged, 0 bad;")
    token = installation.run(
        "catalog", "token", "--subject", "me", "--role", "admin", "--data", data
    )
    process = subprocess.Popen(
        [installation.binaries / "catalog", "serve", "--port=0", f"--data={data}"],
        cwd=installation.directory,
        env=installation.environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        address = said.removeprefix("catalog listens on ").partition(",")[0]
        server = Server(process, address, token.strip())
        until_ready(server)
        yield server
        assert server.stop() == 0
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=30)


def test_installation_holds_what_is_required_in_versions_that_fit(
    installation: Installation,
) -> None:
    python = str(installation.binaries / "python")
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python, "check"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert (done.returncode, done.stdout) == (0, "No broken requirements found.\n"), done.stderr


def test_modules_are_those_of_the_wheel(installation: Installation) -> None:
    program = "import api, domain, projections, replay_tool as r; print(*(m.__file__ for m in %s))"
    printed = installation.run("python", "-c", program % "(api, domain, projections, r)")
    packages = installation.packages

    assert printed.split() == [
        str(packages / name / "__init__.py")
        for name in ("api", "domain", "projections", "replay_tool")
    ]


def test_wheel_holds_every_file_of_the_packages(installation: Installation) -> None:
    """Vendored files as well, and the commit; the wheel's own record says what it holds."""
    (installed,) = importlib.metadata.distributions(name=NAME, path=[str(installation.packages)])
    folders = ("api", "domain", "projections", "replay_tool")
    held = {str(file) for file in installed.files or () if file.parts[0] in folders}
    ours = {
        str(file.relative_to(ROOT))
        for folder in folders
        for file in (ROOT / folder).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }

    added = set() if commit() == UNKNOWN else {"domain/commit.txt"}
    assert {name for name in held if "__pycache__" not in name} == ours | added


def test_metadata_names_the_licences_and_holds_their_texts(installation: Installation) -> None:
    (metadata_directory,) = installation.packages.glob("metadata_catalog-*.dist-info")
    header = HeaderParser().parsestr((metadata_directory / "METADATA").read_text())
    vendored = ROOT / "api" / "static" / "swagger-ui"
    licences = {
        ROOT / "LICENSE",
        vendored / "LICENSE",
        vendored / "NOTICE",
        *vendored.glob("*.LICENSE.txt"),
        *(ROOT / "api" / "pages" / "static").glob("*.LICENSE.txt"),
        *(ROOT / "domain" / "contracts" / "schemas").glob("*LICENSE.txt"),
    }

    assert header["License-Expression"] == "Apache-2.0"
    assert {ROOT / name for name in header.get_all("License-File", [])} == licences
    for path in licences:
        kept = metadata_directory / "licenses" / path.relative_to(ROOT)
        assert kept.read_bytes() == path.read_bytes()


def test_version_and_commit_of_the_commands_are_those_of_the_checkout(
    wheel: Path, installation: Installation
) -> None:
    assert wheel.name.split("-")[1] == RELEASE
    for command in ("catalog", "catalog-replay"):
        printed = installation.run(command, "--version")
        assert printed == f"{command}, version {RELEASE} (commit {commit()})\n"


@pytest.mark.deep
def test_installed_server_lists_searches_and_documents(
    installation: Installation, server: Server, tmp_path: Path
) -> None:
    listed = server.get("/v1/services/databaseServices")
    matches = server.get("/v1/search/query", q="shop")
    page = server.http.get("/docs")
    script = server.http.get("/docs/swagger-ui-bundle.js")
    bundle = ROOT / "api" / "static" / "swagger-ui" / "swagger-ui-bundle.js"
    verified = installation.run("catalog-replay", "verify", "--data", str(tmp_path / "data"))

    assert [item["name"] for item in listed["data"]] == ["shop"]
    assert matches["hits"]["total"]["value"] == 1
    assert (page.status_code, page.headers["content-type"]) == (
        httpx.codes.OK,
        "text/html; charset=utf-8",
    )
    assert script.content == bundle.read_bytes()
    assert server.get("/docs/openapi.json")["openapi"].startswith("3.1")
    assert verified.splitlines()[-1].startswith("equal (")
