"""Operation from its page where search is in a cluster."""

from pathlib import Path
from uuid import uuid4

import pytest

from benchmarks.opensearch_server import OpenSearchServer
from tests.api.conftest import running
from tests.api.pages.conftest import Browser
from tests.api.pages.operation.test_operation_page import models
from tests.waiting import until

pytestmark = pytest.mark.xdist_group("opensearch")


def test_index_in_a_cluster_is_rebuilt_and_verified_from_the_page(
    opensearch: OpenSearchServer, tmp_path: Path
) -> None:
    url = f"http://127.0.0.1:{opensearch.port}/p{uuid4().hex}"
    with running(tmp_path, search_url=url) as client:
        client.schema()
        browser = Browser(client, "admin")

        browser.submit("/operation", {"work": "rebuild", "what": "search"}, on="/operation")

        done = "Rebuilt and verified search"
        until(lambda: done in models(browser.get("/operation").text))
        assert client.get("/v1/system/projections")["projections"][1]["generation"] == 2
        assert "equal at 3, 3 entities" in models(browser.get("/operation").text)
