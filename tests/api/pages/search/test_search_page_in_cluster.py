"""The search page over a cluster, as of a date."""

from pathlib import Path
from uuid import uuid4

import pytest

from benchmarks.opensearch_server import OpenSearchServer
from tests.api.conftest import running
from tests.api.pages.conftest import Browser
from tests.opensearch_indexes import PATIENCE

pytestmark = pytest.mark.xdist_group("opensearch")


def test_box_refuses_nothing_at_a_date_and_the_page_stays_at_it(
    opensearch: OpenSearchServer, tmp_path: Path
) -> None:
    url = f"http://127.0.0.1:{opensearch.port}/p{uuid4().hex}"
    with running(tmp_path, search_url=url, patience=PATIENCE) as client:
        client.create("glossaries", name="orders", description="")
        browser = Browser(client, "reader")
        suggestions = browser.get("/search/suggestions?q=ord&at=1")
        page = browser.get("/search?q=orders&at=1")

    assert suggestions.status_code == 200
    assert "position 1." in page.text
    assert """<a href="/search?q=orders">Today's page</a>""" in page.text
    assert page.text.count('<div id="found"') == 1
