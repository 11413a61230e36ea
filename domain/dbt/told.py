"""How much an answer to an import from dbt names: artifacts have as many and as long names as they
like.
"""

from collections.abc import Iterable
from typing import TypeVar

import msgspec

MOST_TOLD, MOST_TOLD_BYTES = 5_000, 1_000_000
"""Names of a sort that an answer has, and bytes of JSON that they have together."""
T = TypeVar("T")


class Told:
    """Counts what an answer names of a sort."""

    def __init__(self) -> None:
        self._number = self._bytes = 0

    def takes(self, named: object) -> bool:
        """True if there is room for one more, which then has it."""
        self._bytes += len(msgspec.json.encode(named))
        if self._number >= MOST_TOLD or self._bytes > MOST_TOLD_BYTES:
            return False
        self._number += 1
        return True


def first_of(named: Iterable[T]) -> list[T]:
    """Those for which an answer has room."""
    told = Told()
    return [each for each in named if told.takes(each)]
