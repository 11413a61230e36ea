"""A kind that is only a new row is written, listed and searched with no other change."""

import subprocess
import sys
from pathlib import Path


def test_new_kind_needs_only_its_row(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.api.made_up_kind", str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[4],
        timeout=60,
        check=False,
    )

    assert (done.returncode, done.stdout) == (0, "the made-up kind works\n"), done.stderr
