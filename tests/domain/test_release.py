"""The commit of a program is read from what the build has written, or from the checkout."""

import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from api.commands import main as catalog
from domain.release import RELEASE, UNKNOWN, commit, described, read_commit
from replay_tool.commands import main as catalog_replay

ONE, TWO = "1" * 40, "2" * 40


@pytest.mark.parametrize("command", [catalog, catalog_replay])
def test_commands_name_release_and_commit(command: object) -> None:
    printed = CliRunner().invoke(command, ["--version"]).output  # type: ignore[arg-type]
    assert described() == f"{RELEASE} (commit {commit()})"
    assert printed.endswith(f", version {described()}\n")


def test_commit_is_the_one_that_the_build_has_written(tmp_path: Path) -> None:
    file = tmp_path / "commit.txt"
    file.write_text(f"{ONE}\n")
    repository(tmp_path, f"{TWO}\n")
    assert read_commit(file, tmp_path) == ONE


@pytest.mark.parametrize("text", ["", "HEAD", "g" * 40, "1" * 39, "\N{SNOWMAN}"])
def test_file_that_names_no_commit_is_not_believed(tmp_path: Path, text: str) -> None:
    file = tmp_path / "commit.txt"
    file.write_text(text, "utf-8")
    assert read_commit(file, tmp_path) == UNKNOWN


def repository(checkout: Path, head: str) -> Path:
    made = checkout / ".git"
    made.mkdir(parents=True)
    (made / "HEAD").write_text(head)
    return made


def test_commit_of_a_checkout_is_that_of_its_branch(tmp_path: Path) -> None:
    none = tmp_path / "commit.txt"
    made = repository(tmp_path / "detached", f"{ONE}\n")
    assert read_commit(none, tmp_path / "detached") == ONE
    made = repository(tmp_path / "branch", "ref: refs/heads/main\n")
    assert read_commit(none, tmp_path / "branch") == UNKNOWN
    (made / "packed-refs").write_text(
        f"# pack-refs\n{TWO} refs/heads/other\n{ONE} refs/heads/main\n"
    )
    assert read_commit(none, tmp_path / "branch") == ONE
    (made / "refs" / "heads").mkdir(parents=True)
    (made / "refs" / "heads" / "main").write_text(f"{TWO}\n")
    assert read_commit(none, tmp_path / "branch") == TWO


def test_commit_of_a_work_tree_is_that_of_its_branch(tmp_path: Path) -> None:
    def git(*arguments: str) -> str:
        done = subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments],
            cwd=tmp_path, check=True, capture_output=True, text=True,
        )  # fmt: skip
        return done.stdout.strip()

    git("init", "--quiet", "main")
    git("-C", "main", "commit", "--quiet", "--allow-empty", "--message", "one")
    git("-C", "main", "worktree", "add", "--quiet", "../other")
    git("-C", "other", "commit", "--quiet", "--allow-empty", "--message", "two")
    for tree in ("main", "other"):
        assert read_commit(tmp_path / "none", tmp_path / tree) == git(
            "-C", tree, "rev-parse", "HEAD"
        )


def test_commit_is_unknown_where_there_is_no_repository(tmp_path: Path) -> None:
    assert read_commit(tmp_path / "commit.txt", tmp_path) == UNKNOWN
    (tmp_path / ".git").write_text("gitdir: nowhere\n")
    assert read_commit(tmp_path / "commit.txt", tmp_path) == UNKNOWN
