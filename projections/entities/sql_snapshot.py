"""The statements by which verification reads from every database."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from projections.entities.commit_changes import WRONG_COUNTERS
from projections.entities.daily_counts import DayCount
from projections.entities.past_verification import totals_at
from projections.entities.replaced_states import Series
from projections.entities.stored_entity import HELD_DIGESTS, held_digests
from projections.entities.verification_source import wrong_total
from projections.verification.report import Difference


class SqlSnapshot(ABC):
    """The part of an EntitySnapshot that databases answer alike."""

    empty_text = "''"
    """SQL for an empty text that is compared with scopes."""

    @abstractmethod
    def _rows(self, sql: str, *values: Any) -> Iterable[Any]:
        """The rows of a statement; `{}.` stands before tables."""

    def digests(self) -> dict[str, tuple[int, int]]:
        """Kind -> number of its entities and sum of their digests, as commits have kept them."""
        return held_digests(self._rows(HELD_DIGESTS))

    def pasts(self) -> dict[str, tuple[int, int]]:
        """Kind -> number and sum of digests of the rows of its past, as commits have kept them."""
        return held_digests(self._rows("SELECT kind, n, sum FROM {}.pasts WHERE n <> 0"))

    def totals_at(
        self, positions: Sequence[int]
    ) -> Sequence[tuple[Mapping[Series, int], Mapping[Series, int]]]:
        """The totals of all kinds at some positions: counted, and as they are kept."""
        return totals_at(self._rows, positions)

    def days(self) -> Iterator[DayCount]:
        """The counts of days that are stored."""
        yield from self._rows("SELECT * FROM {}.days")

    def wrong_totals(self) -> Iterator[Difference]:
        """Yield the counters that differ from the entities."""
        for row in self._rows(WRONG_COUNTERS.replace("{empty}", self.empty_text)):
            yield wrong_total(*row)
