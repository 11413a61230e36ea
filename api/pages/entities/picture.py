"""The picture of the lineage of an entity with its links, on two pages."""

from itertools import groupby
from typing import Any

import msgspec

from api.pages.entities.entity_routes import EntityRequest
from api.pages.frame.addresses import with_query
from api.pages.lineage.boxes import Box, Sort
from api.pages.lineage.drawing import Asked, drawing
from api.pages.lineage.walk import BESIDE, MOST_STEPS, Walk, walk_around
from api.use_cases.edge_sight import may_see_lineage
from domain.errors import NotFound
from domain.kinds.bodies.components import Reference
from projections.entities.lineage import Bounds

COLUMNS_LISTED = 200
"""Columns of the entity of which the list beside its picture has a link."""


class Unfolded(msgspec.Struct, frozen=True):
    """A request for a picture: its steps, and the column and the group that it shows."""

    address: str
    """Address of the page of the lineage, with the moment of the past if the page has one."""
    up: int
    down: int
    asked: Asked

    def to(self, **changed: Any) -> str:
        """The address of the page with other parameters, without those that have their defaults."""
        given = msgspec.to_builtins(self.asked) | {"up": self.up, "down": self.down} | changed
        named = {
            "up": "" if given["up"] == 1 else str(given["up"]),
            "down": "" if given["down"] == 1 else str(given["down"]),
            "column": given["column"],
            "open": given["opened"],
            "after": given["after"],
        }
        return with_query(self.address, named)

    def of_box(self, box: Box) -> str:
        """The address of the page in which a group is unfolded, or a large layer turned."""
        if box.sort is Sort.GROUP:
            return self.to(opened=box.name, after="")
        return self.to(after=box.name)


def picture_beside(at: EntityRequest) -> dict[str, Any] | None:
    """The values of the picture on the page of an entity; None for one without lineage.

    The picture shows one step in each direction. Blocks.
    """
    if not may_see_lineage(at.access):
        return None
    try:
        return picture_of(at, 1, 1, Asked(), BESIDE, in_place=True)
    except NotFound:
        # The entity is deleted, or so new that lists do not have it yet.
        return None


def picture_of(
    at: EntityRequest, up: int, down: int, asked: Asked, bounds: Bounds, *, in_place: bool
) -> dict[str, Any] | None:
    """The values of a picture; None where no edge is seen. Raises what `walk_around` raises.

    The links of one that is shown `in_place` unfold it without loading its page.
    """
    which = Reference(type=at.kind.name, fully_qualified_name=at.name)
    walk = walk_around(at.services, at.access, which, (up, down), at.past, bounds)
    if not (walk.steps or walk.further_up or walk.further_down):
        return None
    address = at.address(walk.root.fully_qualified_name, "lineage")
    unfolded = Unfolded(address, up, down, asked)
    drawn = drawing(walk, asked)
    columns = drawn.pop("columns")
    return {
        **drawn,
        **_turns(walk, unfolded),
        "asked": asked,
        "in_place": in_place,
        "truncated": walk.truncated,
        "page": unfolded.to(),
        "address": unfolded.of_box,
        "lit_by": lambda column: unfolded.to(column=column),
        "unlit": unfolded.to(column=""),
        "folded": unfolded.to(opened="", after=""),
        "columns": columns[:COLUMNS_LISTED],
        "more_columns": len(columns[COLUMNS_LISTED:]),
        "lists": [
            (_layer_title(layer), [*group])
            for layer, group in groupby(drawn["boxes"], lambda each: each.box.layer)
        ],
    }


def _layer_title(layer: int) -> str:
    if not layer:
        return "Itself"
    return f"{'Up' if layer < 0 else 'Down'}stream {abs(layer)}"


def _turns(walk: Walk, unfolded: Unfolded) -> dict[str, Any]:
    """The links to more and fewer steps in each direction; None where there is no such step."""
    up, down = unfolded.up, unfolded.down
    more_up = walk.further_up and up < MOST_STEPS
    more_down = walk.further_down and down < MOST_STEPS
    return {
        "further_up": walk.further_up,
        "further_down": walk.further_down,
        "more_up": unfolded.to(up=up + 1) if more_up else None,
        "more_down": unfolded.to(down=down + 1) if more_down else None,
        "less_up": unfolded.to(up=up - 1) if up > 1 else None,
        "whole": unfolded.to(up=MOST_STEPS, down=MOST_STEPS) if more_up or more_down else None,
        "less_down": unfolded.to(down=down - 1) if down > 1 else None,
    }
