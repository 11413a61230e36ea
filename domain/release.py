"""The release of this program, and the commit that it was built from."""

from functools import cache
from pathlib import Path

RELEASE = "0.2.0"
"""The one place of the version: the package, the commands and the log take it from here."""
UNKNOWN = "unknown"
_ROOM = Path(__file__).parent


def described() -> str:
    """Release and commit, as `--version` prints them."""
    return f"{RELEASE} (commit {commit()})"


@cache
def commit() -> str:
    """The commit that this program was built from, UNKNOWN where nothing tells.

    A package holds it in a file that the build has written; a checkout has it in its repository,
    which is read as files, so that no other program is started.
    """
    return read_commit(_ROOM / "commit.txt", _ROOM.parent)


def read_commit(file: Path, checkout: Path) -> str:
    """The commit in a file of the build, else that of a checkout, else UNKNOWN."""
    try:
        return _checked(file.read_text("ascii"))
    except FileNotFoundError:
        pass
    except (OSError, ValueError):
        return UNKNOWN
    try:
        return _checked(_head(checkout / ".git"))
    except (OSError, ValueError):
        return UNKNOWN


def _head(repository: Path) -> str:
    """The commit at the head of a repository, or of one of its work trees, where .git is a file."""
    if repository.is_file():
        repository = repository.parent / repository.read_text().removeprefix("gitdir:").strip()
    head = (repository / "HEAD").read_text().strip()
    if not head.startswith("ref:"):
        return head
    name = head.removeprefix("ref:").strip()
    shared = repository / "commondir"
    common = repository / shared.read_text().strip() if shared.exists() else repository
    for place in (repository, common):
        if (place / name).is_file():
            return (place / name).read_text()
    for line in (common / "packed-refs").read_text().splitlines():
        value, _, packed = line.partition(" ")
        if packed == name:
            return value
    raise ValueError(f"{name} has no commit")


def _checked(text: str) -> str:
    """The name of a commit in a text; raises ValueError where it is none."""
    name = text.strip()
    if len(name) not in (40, 64) or not set(name) <= set("0123456789abcdef"):
        raise ValueError(f"{name[:80]!r} names no commit")
    return name
