"""Two moments of a list, merged: each entity once, with its state in either."""

from collections.abc import Callable
from typing import Any

import msgspec

from api.callers.permissions import Access
from api.pages.frame.addresses import with_query
from api.pages.frame.documents import complete
from api.pages.frame.moments import Moment
from api.paths.entity_pages import entity_address
from api.services import Services
from api.use_cases.lists import read_list, wanted_list
from api.use_cases.past import NOW
from domain.kinds.entity_kind import EntityKind
from projections.entities.cursors import Place, decode, encode

Key = tuple[str, str]
"""Name and id, by which lists are in order."""


class Side(msgspec.Struct, frozen=True):
    """One of two moments, as a page shows it."""

    shown: str
    """The time, or a word for the present."""
    entity_address: Callable[..., str]
    """Function that gives the address of an entity's page as of this moment."""


class TwoMoments(msgspec.Struct, frozen=True):
    """The moments of a list that stand side by side."""

    one: Moment
    other: Moment | None
    """The second moment; None for the present."""

    @property
    def sides(self) -> tuple[Side, Side]:
        """The two moments, as a page shows them."""
        one, other = self.one, self.other
        present = Side("Today", entity_address)
        return Side(one.shown, one.entity_address), (
            Side(other.shown, other.entity_address) if other else present
        )

    def dated(self, address: str) -> str:
        """An address of the list's page, with parameters for both moments."""
        beside = self.other.point if self.other else NOW
        return self.one.dated(with_query(address, {"beside": beside}))


class RowOfTwo(msgspec.Struct, frozen=True):
    """An entity as it is in two lists."""

    one: dict[str, Any] | None
    """The entity in the first list, None if it is not there; `other` is the same for the second."""
    other: dict[str, Any] | None
    compared: str | None
    """Address of the page that compares the entity's two versions; None if they are the same."""


class ListOfTwo(msgspec.Struct, frozen=True):
    """A page of two lists in their common order."""

    rows: list[RowOfTwo]
    totals: tuple[int, int]
    """Number of entities of each whole list."""
    purged: tuple[int, int]
    """For each list the number of entities that were in it and are purged by now."""
    before: str | None
    """The cursor of the page before this one."""
    after: str | None


def read_two_moments(
    services: Services,
    kind: EntityKind,
    access: Access,
    moments: TwoMoments,
    given: dict[str, Any],
) -> ListOfTwo:
    """A page of a kind's list at two moments.

    `given` are parameters of the list, `limit` among them; a cursor is one of the first moment.
    Blocks. Raises InvalidInput and FieldWithheld.
    """
    one, other = moments.one.past, moments.other.past if moments.other else None
    wanted = wanted_list(kind, access, one, **given)
    identity, backward = wanted.identity, wanted.backward
    first = read_list(services, kind, access, one, **given)
    if cursor := wanted.before or wanted.after:
        place, _ = decode(cursor, identity, backward=backward)
        # The cursor of the same place in the other list has the position of that list.
        position = None if other is None else other.position
        there = encode(place, identity, backward=backward, position=position).decode()
        given = given | {"before" if backward else "after": there}
    pages = first, read_list(services, kind, access, other, **given)
    states = [
        {(each["name"], each["id"]): complete(each) for each in page["data"]} for page in pages
    ]
    keys: list[Key] = sorted({*states[0], *states[1]})
    shown = keys[-wanted.limit :] if backward else keys[: wanted.limit]

    def turning(parameter: str, at: int) -> str | None:
        """The cursor of the page on one side of this one, if either list goes on there."""
        left_out = len(shown) < len(keys) and backward is (parameter == "before")
        if not (left_out or any(parameter in page["paging"] for page in pages)):
            return None
        if not shown:
            cursor: str | None = first["paging"].get(parameter)
            return cursor
        place = Place(*shown[at])
        to_before = parameter == "before"
        return encode(place, identity, backward=to_before, position=one.position).decode()

    totals, purged = (
        (pages[0]["paging"].get(key, 0), pages[1]["paging"].get(key, 0))
        for key in ("total", "purged")
    )
    return ListOfTwo(
        [_row(kind, states[0].get(key), states[1].get(key)) for key in shown],
        totals,
        purged,
        turning("before", 0),
        turning("after", -1),
    )


def _row(kind: EntityKind, one: dict[str, Any] | None, other: dict[str, Any] | None) -> RowOfTwo:
    if one is None or other is None or one["version"] == other["version"]:
        return RowOfTwo(one, other, None)
    address = entity_address(kind.name, other["fullyQualifiedName"], "compare")
    versions = {"from": f"{one['version']:.1f}", "to": f"{other['version']:.1f}"}
    return RowOfTwo(one, other, with_query(address, versions))
