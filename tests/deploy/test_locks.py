"""The locked releases are those that `pyproject.toml` allows, each with hashes and no address."""

import re
import tomllib
from collections import defaultdict

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.deploy.dockerfile import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
RUNTIME = [
    *PROJECT["project"]["dependencies"],
    *(each for extra in PROJECT["project"]["optional-dependencies"].values() for each in extra),
]
LOCKS = {
    "deploy/requirements.txt": RUNTIME,
    "deploy/build-requirements.txt": PROJECT["build-system"]["requires"],
    ".ci/requirements.txt": [*RUNTIME, *PROJECT["dependency-groups"]["dev"]],
}


def locked(lock: str) -> dict[str, set[str]]:
    """The releases of each package; several where the Python decides."""
    releases: dict[str, set[str]] = defaultdict(set)
    for line in (ROOT / lock).read_text().splitlines():
        if not line.startswith(" "):
            requirement = Requirement(line.removesuffix("\\").strip())
            (release,) = requirement.specifier
            assert release.operator == "=="
            releases[canonicalize_name(requirement.name)].add(release.version)
    return releases


@pytest.mark.parametrize("lock", LOCKS)
def test_lock_satisfies_what_the_project_requires(lock: str) -> None:
    releases = locked(lock)
    for requirement in map(Requirement, LOCKS[lock]):
        found = releases.get(canonicalize_name(requirement.name), set())
        assert found, requirement
        assert all(requirement.specifier.contains(each) for each in found), (requirement, found)


@pytest.mark.parametrize("lock", LOCKS)
def test_lock_holds_hashes_and_names_no_host(lock: str) -> None:
    text = (ROOT / lock).read_text()
    for entry in re.split(r"\n(?! )", text.strip()):
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry), entry
    assert re.findall(r"//|^-", text, re.MULTILINE) == []


@pytest.mark.parametrize("lock", [lock for lock in LOCKS if lock.startswith("deploy/")])
def test_image_has_the_releases_that_are_tested(lock: str) -> None:
    tested = locked(".ci/requirements.txt")
    assert {name: tested[name] for name in locked(lock)} == locked(lock)
