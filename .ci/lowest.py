"""Prints constraints for pip: the oldest releases of what the project requires, else the locked."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
_REQUIREMENT = re.compile(r"(?P<name>[\w-]+)(\[\w+\])?[=>]=(?P<release>[\d.]+)")
_LOCKED = re.compile(r"(?P<name>[\w-]+)(\[\w+\])?==[^\\]*")


def _key(name: str) -> str:
    return name.replace("_", "-").lower()


def constraints() -> list[str]:
    """A line for each package that the tests need."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    required = [*project["dependencies"], *(each for extra in extras for each in extra)]
    lowest = {
        _key(match["name"]): f"{match['name']}=={match['release']}"
        for match in map(_REQUIREMENT.match, required)
        if match
    }
    # What is named after a package, such as psycopg-binary, is released with it.
    free = tuple(f"{name}-" for name in lowest)
    lines = (ROOT / ".ci/requirements.txt").read_text().splitlines()
    locked = [
        match[0].strip()
        for match in map(_LOCKED.match, lines)
        if match and not f"{_key(match['name'])}-".startswith(free)
    ]
    return [*lowest.values(), *locked]


if __name__ == "__main__":
    print("\n".join(constraints()))
