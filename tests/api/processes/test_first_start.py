"""Effects of the first start: also where tools have built the read models, and never again."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from api.processes.first_start import CLASSIFICATIONS, TEST_DEFINITIONS, make_new_catalog
from benchmarks.direct_catalog import DirectCatalog
from domain.event_store.port import EventStore
from domain.kinds.registry import KINDS
from domain.write_context import WriteContext
from domain.writing.entity_cache import EntityCache
from projections.wiring.stores import open_log, open_stores
from replay_tool.commands import main

FILES = (CLASSIFICATIONS, TEST_DEFINITIONS)
CREATED = sum(len(file.read_bytes().splitlines()) for file in FILES)
BODY = {"name": "d", "description": "x", "domainType": "Aggregate"}
CONTEXT = WriteContext(actor="ann", request_id="r")


@contextmanager
def opened(directory: Path) -> Iterator[EventStore]:
    with closing(open_log(directory)) as log:
        yield log


def head(directory: Path) -> int:
    with opened(directory) as log:
        return log.head()


def write_one(directory: Path) -> None:
    """Write to a log that no server has seen, as an import does."""
    with opened(directory) as log:
        DirectCatalog(log).create(KINDS["domain"], BODY, CONTEXT)


def build(directory: Path, command: str) -> None:
    done = CliRunner().invoke(main, [command, "--data", str(directory)])
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("command", ["catch-up", "rebuild"])
def test_catalog_whose_read_models_a_tool_built_is_still_new(tmp_path: Path, command: str) -> None:
    write_one(tmp_path)
    build(tmp_path, command)
    make_new_catalog(tmp_path, None)
    assert head(tmp_path) == 1 + CREATED
    build(tmp_path, command)
    with opened(tmp_path) as log:
        claim = log.claim("classification", "PII")
        assert claim is not None
        kind = KINDS["classification"]
        DirectCatalog(log).delete(kind, claim.id, CONTEXT, hard=True, recursive=True)
        left = log.head()
    make_new_catalog(tmp_path, None)
    assert head(tmp_path) == left


def test_catalog_that_was_served_is_left_alone(tmp_path: Path) -> None:
    write_one(tmp_path)
    # As an older version served it, which made nothing.
    with closing(open_stores(tmp_path)) as stores:
        for supervisor in stores.supervisors:
            while supervisor.step():
                pass
    make_new_catalog(tmp_path, None)
    assert head(tmp_path) == 1


def test_recognizers_of_personal_data_can_be_told_apart(tmp_path: Path) -> None:
    make_new_catalog(tmp_path, None)
    with opened(tmp_path) as log:
        states = {
            name: EntityCache(log).known(claim.id)
            for kind, name in (
                ("classification", "PII"),
                ("tag", "PII.Sensitive"),
                ("tag", "PII.NonSensitive"),
                ("tag", "PII.None"),
            )
            if (claim := log.claim(kind, name)) is not None
        }
    assert states["PII"].value("autoClassificationConfig")["enabled"]
    recognizers = {
        name: state.value("recognizers")
        for name, state in states.items()
        if state.value("autoClassificationEnabled")
    }
    assert recognizers.keys() == {"PII.Sensitive", "PII.NonSensitive"}
    every = [each for some in recognizers.values() for each in some]
    assert len({each["id"] for each in every}) == len(every) > 20
    assert all(each["recognizerConfig"]["type"] == "predefined" for each in every)
