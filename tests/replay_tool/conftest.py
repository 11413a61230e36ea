"""A small catalog with a history, its read models built, for the commands to work on."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from benchmarks.direct_catalog import DirectCatalog
from domain.kinds.registry import KINDS
from domain.write_context import WriteContext
from projections.wiring.stores import open_log
from tests.e2e.conftest import replay

ORDERS = "shop.db.sales.orders"


def fill(directory: Path) -> None:
    """A service down to a table that was changed twice, and one that was purged."""
    log = open_log(directory)
    catalog = DirectCatalog(log)

    def put(kind: str, request: str, **values: Any) -> str:
        context = WriteContext(actor="ann", request_id=request)
        return catalog.put(KINDS[kind], values, context).entity.id

    put("databaseService", "r1", name="shop", serviceType="Mysql")
    put("database", "r2", name="db", service="shop")
    put("databaseSchema", "r3", name="sales", database="shop.db")
    schema = "shop.db.sales"
    columns = [{"name": "id", "dataType": "INT"}]
    put("table", "r4", name="orders", databaseSchema=schema, columns=columns)
    columns[0]["description"] = "the key"
    put("table", "r5", name="orders", databaseSchema=schema, columns=columns)
    put("table", "r6", name="orders", databaseSchema=schema, description="all orders")
    gone = put("table", "r7", name="gone", databaseSchema=schema, columns=columns)
    context = WriteContext(actor="bob", request_id="r8")
    catalog.delete(KINDS["table"], gone, context, hard=True, recursive=False)
    log.close()


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory, made once."""
    directory = tmp_path_factory.mktemp("catalog") / "data"
    directory.mkdir()
    fill(directory)
    done = replay("catch-up", "--data", str(directory))
    assert done.returncode == 0, done.stderr
    return directory


@pytest.fixture
def data(built: Path, tmp_path: Path) -> Path:
    """A copy of it that a test may spoil, without what other tests have proven of it."""
    unproven = shutil.ignore_patterns("proof-*")
    return Path(shutil.copytree(built, tmp_path / "data", ignore=unproven))


def edit(file: Path, statement: str) -> None:
    """Change a database behind the back of the catalog."""
    with closing(sqlite3.connect(file)) as connection, connection:
        assert connection.execute(statement).rowcount >= 1
