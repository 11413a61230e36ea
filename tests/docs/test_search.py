"""The Python of the page on the search index runs beside a live server, and gives what it shows."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.e2e.conftest import serving
from tests.replay_tool.conftest import fill

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "search.md"


def test_page_is_of_python_that_shows_its_results() -> None:
    fences = re.findall(r"^```(\w*)$", PAGE.read_text(), re.MULTILINE)
    assert set(fences[::2]) == {"python"}
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    assert len(blocks) > 5
    # Without the empty line the end of the block would be taken for a part of a result.
    assert [block for block in blocks if not block.startswith(">>>") or block[-2:] != "\n\n"] == []


def test_page_runs_beside_a_live_server(tmp_path: Path) -> None:
    directory = tmp_path / "catalog-data"
    directory.mkdir()
    fill(directory)
    with serving(directory) as server:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-m", "doctest", str(PAGE)],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        hits = server.get("/v1/search/query", q="all orders")["hits"]["hits"]
        assert [hit["_source"]["name"] for hit in hits] == ["orders"]
