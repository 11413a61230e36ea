"""Reads that include what their callers know of, on whichever host they are answered.

The answer to a write says in `X-Catalog-Position` up to where the log includes it. A read that has
the same header waits until the read models of this host have applied that position: those that the
read is answered from. Readers of the log itself (the audit) have nothing to wait for.
"""

import asyncio
import re
from collections.abc import Iterable
from typing import TypeGuard

from litestar.types import Scope

from api.callers.limits import Places
from api.callers.permissions import Action, Permission
from api.errors import Overloaded
from domain.errors import InvalidInput
from projections.feeding.passing import CheckpointWaiters

HEADER = "X-Catalog-Position"
RAW_HEADER = HEADER.lower().encode()
MAX_POSITION = 10**12 - 1
"""More events than any log has. Times since 2001 are greater in milliseconds, so a number that is
meant as a time is refused, and not waited for as a position."""
MAX_WAITING = 64
"""Most reads of one caller that may wait for a position; connections bound those of all callers."""
_READING = frozenset({Action.LIST, Action.VIEW, Action.SAMPLE, Action.SEARCH})
_DIGITS = re.compile(rb"[0-9]{1,19}").fullmatch


def may_wait(needed: object) -> TypeGuard[Permission]:
    """True if routes with this permission wait for the header's position; all others ignore it."""
    return isinstance(needed, Permission) and needed.action in _READING


class ReadPositions:
    """Holds reads to the positions that they name."""

    def __init__(self, listed: CheckpointWaiters, searchable: CheckpointWaiters) -> None:
        """`listed` are the waits for the sorted read model, `searchable` those for searches."""
        self._listed = listed
        self._searchable = searchable
        self._places = Places(MAX_WAITING, "reads that wait for a position")

    def have_passed(self, headers: Iterable[tuple[bytes, bytes]], needed: Permission) -> bool:
        """True if a read need not wait; False too for a header that is to be refused."""
        try:
            position = _position(headers)
        except InvalidInput:
            return False
        return position is None or all(
            waiters.have_passed(position) for waiters in self._waiters(needed)
        )

    async def wait(self, scope: Scope, needed: Permission) -> None:
        """Wait until a read may be answered, without holding a thread.

        Raises InvalidInput for a malformed position, Overloaded when the read models did not reach
        it in time, TooManyRequests when too many reads of the caller wait already.
        """
        position = _position(scope["headers"])
        if position is None or self.have_passed(scope["headers"], needed):
            return
        await self._until(position, scope["user"].name, self._waiters(needed), f"without {HEADER}")

    async def reach(self, position: int, caller: str, *, searched: bool = False) -> None:
        """Wait until lists include a position, and searches where these are asked.

        Raises as `wait` does.
        """
        waited_for = [self._listed, self._searchable] if searched else [self._listed]
        if not all(waiters.have_passed(position) for waiters in waited_for):
            await self._until(position, caller, waited_for, "at an earlier one")

    async def _until(
        self, position: int, caller: str, waited_for: list[CheckpointWaiters], otherwise: str
    ) -> None:
        with self._places.held(caller):
            waiting = [waiters.until(position) for waiters in waited_for]
            if not all(await asyncio.gather(*waiting)):
                # The message does not say how far the read models are: that is for operators.
                raise Overloaded(
                    f"this host has not applied position {position} yet: try again,"
                    f" or read {otherwise}",
                    1,
                )

    def _waiters(self, needed: Permission) -> list[CheckpointWaiters]:
        """Documents of hits come from the sorted read model, so searches need both."""
        is_search = needed.action is Action.SEARCH
        return [self._listed, self._searchable] if is_search else [self._listed]


def _position(headers: Iterable[tuple[bytes, bytes]]) -> int | None:
    """The position that a request names, None when it names none; raises InvalidInput."""
    values = [value for name, value in headers if name == RAW_HEADER]
    if not values:
        return None
    if len(values) > 1 or not _DIGITS(values[0]) or int(values[0]) > MAX_POSITION:
        raise InvalidInput(f"{HEADER} must be one whole number from 0 to {MAX_POSITION}")
    return int(values[0])
