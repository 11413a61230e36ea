"""Documents of contracts move with the log, and are proven where they arrive."""

import json
from functools import partial
from pathlib import Path

from benchmarks.direct_catalog import DirectCatalog
from domain.contracts.exporting import document_of
from domain.contracts.yaml_input import read_yaml
from domain.kinds.bodies.components import Reference
from domain.kinds.registry import KINDS
from domain.write_context import WriteContext
from domain.writing.documents import DocumentRequest, plan_document
from domain.writing.entity_cache import ByName
from projections.wiring.stores import open_log
from tests.domain.contracts.documents import FULL
from tests.e2e.conftest import replay
from tests.replay_tool.conftest import ORDERS, edit

CONTRACT = KINDS["dataContract"]


def give_document(data: Path) -> None:
    """Give the table of a catalog a contract by a document."""
    log = open_log(data)
    catalog, context = DirectCatalog(log), WriteContext(actor="ann", request_id="r")
    entity = Reference(type="table", fully_qualified_name=ORDERS)
    request = DocumentRequest(document=read_yaml(FULL.encode()), entity=entity)
    catalog.write(context, partial(plan_document, catalog.planner, request, context))
    log.close()


def test_document_moves_with_the_log(data: Path, tmp_path: Path) -> None:
    give_document(data)
    file, other = tmp_path / "log.ndjson", tmp_path / "other"

    done = [
        replay("export", str(file), "--data", str(data)),
        replay("import", str(file), "--data", str(other)),
        replay("catch-up", "--data", str(other)),
        replay("verify", "--data", str(other)),
    ]

    assert [each.returncode for each in done] == [0] * 4, [each.stderr for each in done]
    with file.open() as lines:
        assert "key:dataContract.odcs" in json.dumps(json.loads(next(lines)))
    log = open_log(other)
    contract = DirectCatalog(log).planner.live(CONTRACT, ByName(f"{ORDERS}.dataContract_Orders"))
    log.close()
    assert repr(document_of(contract)) == repr(read_yaml(FULL.encode()))


def test_verify_tells_of_a_document_that_would_not_be_served_as_it_was_given(data: Path) -> None:
    give_document(data)
    edit(
        data / "events.db",
        "UPDATE stored_events SET state = CAST(replace(state, '9.95', '9.950') AS BLOB)",
    )
    done = replay("verify", "log", "--data", str(data))
    assert done.returncode == 1
    assert "the document that is served as JSON is not the one that was given" in done.stdout
