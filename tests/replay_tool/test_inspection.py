"""`catalog-replay inspect --entity`: every kind that the log holds, side by side."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from benchmarks.direct_catalog import DirectCatalog
from domain.kinds.registry import KINDS, LINEAGE_EDGE
from domain.writing.entity_cache import ByName, EntityCache
from projections.wiring.stores import open_stores
from replay_tool.commands import main
from tests.domain.drawing import draw
from tests.replay_tool.conftest import ORDERS


def inspect(directory: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["inspect", "--data", str(directory), *arguments])


def test_edge_of_the_lineage_is_in_log_and_list_and_in_no_index(data: Path) -> None:
    stores = open_stores(data)
    catalog = DirectCatalog(stores.log)
    held = EntityCache(stores.log)
    orders = held.existing(KINDS["table"], ByName(ORDERS))
    schema = held.existing(KINDS["databaseSchema"], ByName("shop.db.sales"))
    edge = draw(catalog, orders, schema).entity
    for supervisor in stores.supervisors:
        while supervisor.step():
            pass
    stores.close()

    done = inspect(data, "--entity", LINEAGE_EDGE.name, edge.fqn)

    assert done.exit_code == 0, done.output
    shown = json.loads(done.stdout)
    assert (shown["kind"], shown["id"]) == ("lineageEdge", edge.id)
    assert shown["log"] == shown["entities"]
    assert (shown["search"], shown["differences"]) == (None, [])


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--entity", "", ORDERS), "'' is not a kind; the kinds are team, user, "),
        (("--entity", "table", ""), "table instance for '' not found"),
        (("--data", ""), "Invalid value for '--data': must not be empty"),
    ],
)
def test_what_names_nothing_is_refused(
    built: Path, arguments: tuple[str, ...], reason: str
) -> None:
    done = inspect(built, *arguments)
    assert (done.exit_code, reason in done.stderr) == (2, True), done.stderr
