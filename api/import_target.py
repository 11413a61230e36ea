"""Imports the artifacts in the target directory of a dbt project, without a server."""

from collections import Counter
from contextlib import closing
from functools import partial
from pathlib import Path
from uuid import uuid4

import click

from api.services import open_measurements
from api.settings import Settings
from domain.dbt.contracts import ContractImport, ModelOutcome
from domain.dbt.reader_process import MOST_BYTES
from domain.dbt.reading import read_manifest, read_run
from domain.dbt.results import results_of
from domain.dbt.tested_versions import noted_manifest
from domain.errors import InvalidInput
from domain.machine import clock
from domain.write_context import WriteContext
from domain.writing.catalog import Catalog
from projections.wiring.stores import open_log

MANIFEST, RUN_RESULTS = "manifest.json", "run_results.json"


class TargetImport:
    """One run of `catalog import-dbt`."""

    def __init__(self, settings: Settings, service: str, actor: str, *, as_bot: bool) -> None:
        """`as_bot` keeps what people curated, as the PUTs of a bot do."""
        self._settings = settings
        self._service = service
        self._context = WriteContext(actor=actor, request_id=str(uuid4()), by_bot=as_bot)
        self._counts = Counter[str]()

    @property
    def skipped(self) -> int:
        """Number of contracts that were refused, or have no table."""
        return self._counts["skipped"]

    def load(self, target: Path) -> None:
        """Write the contracts of the manifest, then the results of the run, where there are any.

        Prints a line for each contract that is not as it was, and for each that has a result.
        Raises InvalidInput for a file that is no artifact, NotFound without the service, and
        StoreUnavailable.
        """
        settings = self._settings
        with closing(open_log(settings.directory, settings.database_url)) as log:
            catalog = Catalog(log, gate=settings.gate)
            self._load_manifest(catalog, _read(target / MANIFEST))
            if (target / RUN_RESULTS).exists():
                self._load_run(catalog, _read(target / RUN_RESULTS))

    def summary(self) -> str:
        """Say in one line how many contracts there were and what became of them."""
        outcomes = ("created", "changed", "unchanged", "withdrawn", "skipped")
        return f"contracts: {', '.join(f'{self._counts[each]} {each}' for each in outcomes)}"

    def _load_manifest(self, catalog: Catalog, data: bytes) -> None:
        header, lines = read_manifest(data)
        importing = ContractImport(catalog, self._service, header.project, self._context)
        for line in lines:
            self._tell(catalog.until_stored(partial(importing.propose, line))[1])
        for contract_id in importing.withdrawn():
            propose = partial(importing.propose_withdrawal, contract_id)
            if (outcome := catalog.until_stored(propose)[1]) is not None:
                self._tell(outcome)
        if header.invocation is not None:
            now = clock.now()
            note = noted_manifest(header.invocation, catalog.store.head(), now)
            with closing(open_measurements(self._settings)) as measurements:
                measurements.write(importing.service.id, [note], now)

    def _load_run(self, catalog: Catalog, data: bytes) -> None:
        run, statuses = read_run(data)
        with closing(open_measurements(self._settings)) as measurements:
            found = results_of(catalog, measurements, self._service, run, statuses)
            measurements.write_all(found.points, clock.now())
        for each in found.told.contracts:
            click.echo(f"{_in_a_line(each.unique_id)}: {each.status}")

    def _tell(self, outcome: ModelOutcome) -> None:
        self._counts[outcome.outcome] += 1
        if outcome.outcome != "unchanged":
            more = [f"bump {outcome.bump}"] if outcome.bump else []
            more += [outcome.reason] if outcome.reason else []
            named = _in_a_line(outcome.unique_id)
            click.echo(": ".join([named, "; ".join([outcome.outcome, *more])]))


def _in_a_line(text: str) -> str:
    """A text of an artifact without line ends and other characters that no line shows."""
    return "".join(each if each.isprintable() else "?" for each in text)


def _read(file: Path) -> bytes:
    """A file of the target, no more of it than an artifact may have and a byte."""
    if not file.is_file():
        raise InvalidInput(f"{file} does not exist: run dbt build or dbt parse")
    with file.open("rb") as opened:
        return opened.read(MOST_BYTES + 1)
