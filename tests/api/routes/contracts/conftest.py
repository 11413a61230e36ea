"""One application for the tests of documents."""

from collections.abc import Iterator

import pytest

from tests.api.conftest import Client, running


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """One application for tests that make tables of their own."""
    with running(tmp_path_factory.mktemp("contracts")) as client:
        client.schema()
        yield client
