"""Reactions to the log, each in the one process of a directory, or of all hosts, that leads."""

import time
from typing import Protocol

from domain.judging.judge import Judge
from domain.measurements.port import Measurements
from domain.openlineage.keeping import LATE, WAITING, Keeping
from domain.openlineage.mapping_file import MappingFile
from projections.feeding.daemon import Steps
from projections.generations.port import Leadership
from projections.generations.shared_supervision import TRY_SECONDS
from projections.wiring.stores import Stores


class Reaction(Steps, Protocol):
    """A follower of the log, which goes on from the last position that it remembers."""

    def begin(self) -> None:
        """Go on from the remembered position; to be called when this process begins to lead."""


class LedReaction:
    """A reaction of hosts that share a log: it works in the one process that leads."""

    def __init__(self, reaction: Reaction, leader: Leadership) -> None:
        self.name = reaction.name
        self._reaction = reaction
        self._leader = leader
        self._leads = False
        self._tried_at = float("-inf")

    def step(self) -> int:
        """One step of the reaction; 0 where another process leads."""
        if not (self._leads and self._leader.leads()):
            self._leads = False
            if time.monotonic() - self._tried_at < TRY_SECONDS:
                return 0
            self._tried_at = time.monotonic()
            if not self._leader.take():
                return 0
            self._leads = True
            self._reaction.begin()
        return self._reaction.step()


def judging(stores: Stores, measurements: Measurements) -> Steps:
    """The judge over opened stores; it appends its verdicts to their log."""
    return _led(stores, Judge(stores.log, measurements))


class LateReaction:
    """Draws edges of datasets that come late, where anything waits for some.

    Most catalogs have nothing that waits when they start, and then what draws is not imported.
    """

    name = LATE

    def __init__(self, stores: Stores, measurements: Measurements, mapping: MappingFile) -> None:
        self._stores = stores
        self._measurements = measurements
        self._mapping = mapping
        self._keeping = Keeping(measurements)
        self._reaction: Reaction | None = None

    def begin(self) -> None:
        """Begin anew; to be called when this process begins to lead."""
        if self._reaction is not None:
            self._reaction.begin()

    def step(self) -> int:
        """One step of `LateDatasets`; 0 where nothing waits."""
        if not self._keeping.after(WAITING, "", 1):
            self.begin()
            return 0
        if self._reaction is None:
            self._reaction = self._made()
        return self._reaction.step()

    def _made(self) -> Reaction:
        from domain.openlineage.late_datasets import (  # noqa: PLC0415 - start-up: few need it
            LateDatasets,
        )
        from domain.openlineage.places import Places  # noqa: PLC0415 - start-up
        from domain.openlineage.taking import Taker  # noqa: PLC0415 - start-up
        from domain.writing.catalog import Catalog  # noqa: PLC0415 - start-up
        from projections.entities.lineage_places import LineagePlaces  # noqa: PLC0415 - start-up

        stores, mapping, places = self._stores, self._mapping, LineagePlaces()

        def read_places() -> Places:
            with stores.entities.use() as entities:
                return places.read(entities, lambda: mapping.rules)

        taker = Taker(Catalog(stores.log), self._measurements, read_places)
        return LateDatasets(stores.log, taker, mapping, read_places, stores.listed)


def drawing_late(stores: Stores, measurements: Measurements, mapping: MappingFile) -> Steps:
    """The reaction that draws edges of datasets which come after the events that name them."""
    return _led(stores, LateReaction(stores, measurements, mapping))


def _led(stores: Stores, reaction: Reaction) -> Steps:
    entities = stores.backends[0]
    if not entities.is_shared:
        return reaction  # this process has the lock of the directory
    return LedReaction(reaction, entities.leadership_of(reaction.name))
