"""The moment of the past that a page is of, and the form by which people choose one."""

from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from api.declaring.declared_query import Parameters
from api.pages.frame.addresses import OF_ONE_MOMENT, with_query
from api.pages.frame.rendering import AnyRequest
from api.paths.entity_pages import entity_address
from api.services import Services
from api.use_cases import past
from domain.reading.utc_times import in_utc
from projections.entities.cursors import position_of
from projections.entities.list_port import PastOfList
from projections.entities.port import SortedReadModel
from projections.search.language import dates

DATE: Parameters = past.PAST
"""The parameters by which a page is asked for as it was."""


class Moment(msgspec.Struct, frozen=True):
    """A moment of the past: a position of the log, and the time by which people know it."""

    past: PastOfList
    time: int | None
    """Milliseconds since the Unix epoch: the time that was asked for, or that of the last event at
    a position that was; None before the first event."""
    named: Mapping[str, str]
    """The parameter that names the moment in addresses, `asOf` or `at`, with its value."""

    @property
    def position(self) -> int:
        """The position of the log."""
        return self.past.position

    @property
    def point(self) -> str:
        """The time or the position that names the moment in addresses."""
        (value,) = self.named.values()
        return value

    @property
    def shown(self) -> str:
        """The time as people read it: `2026-11-01 00:00 UTC`, with seconds unless they are zero."""
        if self.time is None:
            return "before the first event"
        return f"{self.typed.replace('T', ' ')[:19].removesuffix(':00')} UTC"

    @property
    def typed(self) -> str:
        """The time in UTC as the value of an input; empty before the first event."""
        if self.time is None:
            return ""
        text = in_utc(self.time).replace(tzinfo=None).isoformat(timespec="milliseconds")
        return text.removesuffix(".000")

    def dated(self, address: str) -> str:
        """The address of a page as of this moment."""
        return with_query(address, self.named)

    def entity_address(self, kind: str, fqn: str, view: str = "entity") -> str:
        """The page of an entity as of this moment, or another view of it."""
        return self.dated(entity_address(kind, fqn, view))


async def moment_asked(
    services: Services,
    request: AnyRequest,
    at: str | None,
    as_of: str | None,
    cursor: str | None = None,
    *,
    searched: bool = False,
) -> Moment | None:
    """The moment that DATE, or the cursor of a list, names; None for the present.

    A page of a search says so by `searched`, as its index must have applied the position too.
    Raises what `position_of_list` of `api.use_cases.past` raises.
    """
    if at is None and as_of is None and (cursor is None or position_of(cursor) is None):
        return None
    position = await past.position_of_list(services, request, at, as_of, cursor, searched=searched)
    time = None if as_of is None else dates.span(as_of).first
    return await services.light_read(request, partial(_moment, services, position, as_of, time))


async def moment_beside(services: Services, request: AnyRequest, point: str) -> Moment | None:
    """The moment of a position or a time, given as parameter `beside`; None for `now`.

    Raises what `position_of_point` of `api.use_cases.past` raises.
    """
    if point == past.NOW:
        return None
    position = await past.position_of_point(services, request, "beside", point)
    time = None if point.isdigit() else dates.moment(point)
    return await services.light_read(request, partial(_moment, services, position, point, time))


def _moment(services: Services, position: int, text: str | None, time: int | None) -> Moment:
    """The moment at a position, which a text that means a time has led to; blocks."""
    of_list = past.past_of(services, position)
    if text is None or time is None:
        return Moment(of_list, of_list.now or None, {"at": str(position)})

    def is_final(entities: SortedReadModel) -> bool:
        return entities.first_after(time) is not None

    # What is recorded late may still move the position of a time after all others.
    final = services.stores.entities.read(is_final)
    return Moment(of_list, time, {"asOf": text} if final else {"at": str(position)})


def date_values(address: str, request: AnyRequest, moment: Moment | None) -> dict[str, Any]:
    """The values by which the frame of a page shows its date, and links of the page keep it.

    `address` is that of the page, without a query.
    """
    pairs = parse_qsl(request.scope["query_string"].decode("latin-1"), keep_blank_values=True)
    kept = {name: value for name, value in pairs if name not in OF_ONE_MOMENT}
    values = {
        "date": {"address": address, "kept": kept, "today": with_query(address, kept)},
        "moment": moment,
    }
    if moment is None:
        return values
    return values | {"dated": moment.dated, "entity_address": moment.entity_address}
