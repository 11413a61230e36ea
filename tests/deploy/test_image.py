"""Names in the Dockerfile and the compose file exist and work, tried without an engine."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path, PurePosixPath
from zipfile import ZipFile

import pytest
import yaml

from api.settings import read_settings
from tests.deploy.dockerfile import ROOT, Stage, read_stages

COMPOSE = ROOT / "deploy" / "compose-one-host.yaml"
BUILD, IMAGE = read_stages()


def test_bases_are_pinned_to_a_release_of_a_tested_python() -> None:
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    release = re.fullmatch(r"python:(3\.\d+)\.\d+-slim-bookworm", IMAGE.base)

    assert BUILD.base == IMAGE.base
    assert release is not None
    assert f"Programming Language :: Python :: {release[1]}" in classifiers


def test_image_installs_nothing_whose_hash_is_not_locked() -> None:
    words = shlex.split(" ".join(BUILD.runs))
    installs = " ".join(words).split("pip install ")[1:]

    assert len(installs) == 3
    for install in installs:
        assert "--require-hashes" in install or "--no-index" in install
    assert "--no-build-isolation --no-index" in " ".join(words)
    locks = {f"locks/{path.name}" for path in BUILD.copies.values() if path.suffix == ".txt"}
    assert locks == {word for word in words if word.startswith("locks/")}


def test_image_runs_without_root() -> None:
    user, group = IMAGE.values["USER"].split(":")

    assert int(user) > 0
    assert int(group) > 0


def test_settings_of_the_image_are_accepted() -> None:
    settings = read_settings(catalog_settings(IMAGE.environment))

    assert settings.data == IMAGE.values["VOLUME"]
    assert str(settings.port) == IMAGE.values["EXPOSE"]


def test_server_of_the_image_is_healthy_while_it_runs(tmp_path: Path) -> None:
    """The very commands of the image: entry point, health check, stop."""
    environment = {
        **os.environ,
        **{name: value for name, value in IMAGE.environment.items() if name != "PATH"},
        "CATALOG_DATA": str(tmp_path / "data"),
        "CATALOG_PORT": "0",
        "http_proxy": "http://127.0.0.1:9",
    }
    python, script = IMAGE.arguments("HEALTHCHECK")
    assert python == "python"
    check = [sys.executable, str(IMAGE.copies[PurePosixPath(script)])]
    catalog, *arguments = IMAGE.arguments("ENTRYPOINT") + IMAGE.arguments("CMD")
    assert catalog == "catalog"
    server = subprocess.Popen(
        [sys.executable, "-m", "api.commands", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        text=True,
    )
    try:
        assert server.stdout is not None
        said = server.stdout.readline()
        address = re.search(r"http://0\.0\.0\.0:(\d+),", said)
        assert address is not None, said
        environment["CATALOG_PORT"] = address[1]
        # The socket listens already: whoever asks is answered when the server has started.
        subprocess.run(check, env=environment, timeout=30, check=True)
    finally:
        server.terminate()
        server.communicate(timeout=60)
    done = subprocess.run(
        check, env=environment, timeout=30, capture_output=True, text=True, check=False
    )

    assert server.returncode == 0
    assert done.returncode == 1
    assert done.stderr.startswith(f"port {address[1]} does not answer: ConnectionRefusedError")


def test_health_check_reports_before_it_is_killed() -> None:
    allowed = re.search(r"--timeout=(\d+)s", IMAGE.values["HEALTHCHECK"])
    script = next(iter(IMAGE.copies.values())).read_text()
    waits = re.search(r"^TIMEOUT_SECONDS = (\d+)$", script, re.MULTILINE)
    assert allowed is not None
    assert waits is not None

    assert int(waits[1]) < int(allowed[1])


def test_context_of_the_build_is_all_that_the_wheel_needs(tmp_path: Path) -> None:
    """Build where nothing is but what the first stage copies, as its `pip install .` does."""
    workdir = PurePosixPath(BUILD.values["WORKDIR"])
    for target, source in BUILD.copies.items():
        place = tmp_path / "context" / target.relative_to(workdir)
        if source.is_dir():
            shutil.copytree(source, place, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, place)
    wheel = ("pip", "wheel", "--quiet", "--no-deps", "--no-index", "--no-build-isolation")
    done = subprocess.run(
        [sys.executable, "-m", *wheel, "--wheel-dir", str(tmp_path), str(tmp_path / "context")],
        timeout=120,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "BUILD_COMMIT": "1" * 40},
    )

    assert done.returncode == 0, done.stderr
    (made,) = tmp_path.glob("*.whl")
    with ZipFile(made) as packed:
        assert packed.read("domain/commit.txt") == b"1" * 40 + b"\n"


@pytest.mark.parametrize("stage", [BUILD, IMAGE])
def test_copied_files_are_part_of_the_context(stage: Stage) -> None:
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    let_in = {line.removeprefix("!") for line in ignored if line.startswith("!")}
    assert "*" in ignored

    copied = {str(path.relative_to(ROOT)) for path in stage.copies.values()}
    assert copied <= let_in


def test_compose_file_fits_the_image() -> None:
    compose = yaml.safe_load(COMPOSE.read_text())
    (service,) = compose["services"].values()
    build = service["build"]
    context = (COMPOSE.parent / build["context"]).resolve()
    (volume,) = service["volumes"]
    (port,) = service["ports"]
    settings = read_settings(catalog_settings(IMAGE.environment | service["environment"]))

    assert context == ROOT
    assert (context / build["dockerfile"]).is_file()
    assert volume.split(":") == [*compose["volumes"], settings.data]
    assert port == f"127.0.0.1:{settings.port}:{settings.port}"
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]


def catalog_settings(environment: dict[str, str]) -> dict[str, str]:
    """The variables that the catalog reads."""
    return {name: value for name, value in environment.items() if name.startswith("CATALOG_")}
