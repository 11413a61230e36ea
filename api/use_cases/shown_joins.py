"""The joins of a table that a read of it shows: who sees them, and those of the last days."""

from datetime import UTC, date, datetime

import msgspec

from api.callers.permissions import Access, Action
from api.services import Services
from domain.kinds.entity_kind import EntityKind
from domain.measurements.joins import first_day, summed
from domain.measurements.reports import JOIN, moment_of

_MOST_SHOWN = 10_000
_MOST_BYTES = 4_000_000


def refuse_joins(access: Access, action: Action) -> None:
    """Raise FieldWithheld where a caller does not see the columns, which joins are of."""
    for each in (action, Action.VIEW):
        if withheld := access.withheld(each, "table"):
            withheld.refuse_field("columns", "joins")


def asks_for_joins(kind: EntityKind, fields: str | None) -> bool:
    """Whether a read of a table names its joins, which `*` does not stand for."""
    return kind.name == "table" and "joins" in [each.strip() for each in (fields or "").split(",")]


def joins_of(services: Services, table_id: str) -> bytes:
    """The joins of a table in the last days, as JSON."""
    day = today()
    page = services.measurements.page(
        table_id,
        JOIN,
        None,
        since=moment_of(first_day(day)),
        until=moment_of(day),
        before=None,
        limit=_MOST_SHOWN,
        most_bytes=_MOST_BYTES,
    )
    return msgspec.json.encode(summed((body for _, body in page.points), day))


def today() -> date:
    """Return the current date in UTC."""
    return datetime.now(UTC).date()
