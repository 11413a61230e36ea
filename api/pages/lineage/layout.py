"""Places of the boxes of a layered picture, and the ways of its arrows.

The steps are those of Sugiyama: layers are given, the boxes of each are put into the order of their
neighbours' places, back and forth, and then as near to the height of their neighbours as they fit.
An arrow over several layers has a lane in those between, which other boxes keep free.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import msgspec

from api.pages.lineage.layers import Arrow

WIDTH, ACROSS, BETWEEN = 196.0, 56.0, 14.0
"""The width of a box, and the distances of layers and of boxes in a layer."""
_SWEEPS = 6
"""Passes over the order of the layers, in turn from the left and from the right."""
_SETTLING = 8
"""Passes over the heights of boxes, in turn from the left and from the right."""
_LONGEST_LANE = 12
"""Layers that an arrow may pass in a lane; a longer one goes straight."""
_LANE = 6.0

_Key = str | tuple[str, int]
"""A box, or the lane of a box's arrows in a layer."""
_Neighbours = Mapping[_Key, Sequence[_Key]]
_Lane = tuple[str, int]


class Place(msgspec.Struct, frozen=True):
    """The left upper corner of a box, and its size."""

    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        """The height at which arrows begin and end."""
        return self.y + self.height / 2


class Layout(msgspec.Struct, frozen=True):
    """A picture from (0, 0) on, in pixels."""

    width: float
    height: float
    places: dict[str, Place]
    ways: dict[Arrow, list[tuple[float, float]]]
    """Each arrow -> the points that it goes through, in pairs of the ends of a curve."""


def laid_out(
    layers: Mapping[str, int], heights: Mapping[str, float], arrows: Iterable[Arrow]
) -> Layout:
    """The picture of boxes of some heights, each in its layer, and of arrows between them.

    Boxes do not overlap, and the same boxes and arrows in the same order give the same picture.
    """
    columns: dict[int, list[_Key]] = {layer: [] for layer in sorted({*layers.values()})}
    for box, layer in layers.items():
        columns[layer].append(box)
    left: defaultdict[_Key, list[_Key]] = defaultdict(list)
    right: defaultdict[_Key, list[_Key]] = defaultdict(list)
    lanes = {arrow: _lanes(arrow, layers, [*columns]) for arrow in dict.fromkeys(arrows)}
    # Arrows of one box share their lanes.
    for lane in dict.fromkeys(lane for passed in lanes.values() for lane in passed):
        columns[lane[1]].append(lane)
    steps: dict[tuple[_Key, _Key], None] = {}
    for (beginning, end), passed in lanes.items():
        if layers[beginning] < layers[end]:
            steps |= dict.fromkeys(pairwise((beginning, *passed, end)))
    for before, after in steps:
        left[after].append(before)
        right[before].append(after)
    _put_in_order(columns, left, right)
    middles = _settled(columns, heights, left, right)
    x_of = {layer: number * (WIDTH + ACROSS) for number, layer in enumerate(columns)}
    places = {
        box: Place(x_of[layer], round(middles[box] - heights[box] / 2, 1), WIDTH, heights[box])
        for box, layer in layers.items()
    }
    return Layout(
        width=len(columns) * (WIDTH + ACROSS) - ACROSS if columns else 0.0,
        height=max((place.y + place.height for place in places.values()), default=0.0),
        places=places,
        ways={arrow: _way(arrow, passed, places, middles, x_of) for arrow, passed in lanes.items()},
    )


def _lanes(arrow: Arrow, layers: Mapping[str, int], used: Sequence[int]) -> list[_Lane]:
    """The lanes of an arrow in those of the layers in use that it passes."""
    beginning, end = (layers[box] for box in arrow)
    passed = [layer for layer in used if beginning < layer < end]
    return [] if len(passed) > _LONGEST_LANE else [(arrow[0], layer) for layer in passed]


def _put_in_order(columns: Mapping[int, list[_Key]], left: _Neighbours, right: _Neighbours) -> None:
    """Sort each layer by the middle of its neighbours' places, from the left and from the right."""
    place = {key: number for column in columns.values() for number, key in enumerate(column)}
    for sweep in range(_SWEEPS):
        neighbours = right if sweep % 2 else left
        for column in _in_turn([*columns.values()], sweep):
            middles = {key: _mean(place, neighbours.get(key, ()), place[key]) for key in column}
            column.sort(key=lambda key: middles[key])
            place.update((key, number) for number, key in enumerate(column))


def _settled(
    columns: Mapping[int, list[_Key]],
    heights: Mapping[str, float],
    left: _Neighbours,
    right: _Neighbours,
) -> dict[_Key, float]:
    """The height of the middle of each box and lane, the uppermost box being at 0."""

    def height(key: _Key) -> float:
        return heights[key] if isinstance(key, str) else _LANE

    middles: dict[_Key, float] = {}
    for column in columns.values():
        tops = 0.0
        for key in column:
            middles[key] = tops + height(key) / 2
            tops += height(key) + BETWEEN
        for key in column:
            middles[key] -= tops / 2
    for sweep in range(_SETTLING):
        last = sweep >= _SETTLING - 2
        for column in _in_turn([*columns.values()], sweep):
            wanted = []
            for key in column:
                sides = (left, right) if last else (right if sweep % 2 else left,)
                near = [each for side in sides for each in side.get(key, ())]
                wanted.append(_mean(middles, near, middles[key]))
            distances = [
                (height(above) + height(below)) / 2 + BETWEEN for above, below in pairwise(column)
            ]
            middles.update(zip(column, _apart(wanted, distances), strict=True))
    top = min((middles[key] - height(key) / 2 for key in middles), default=0.0)
    return {key: middle - top for key, middle in middles.items()}


def _apart(wanted: Sequence[float], distances: Sequence[float]) -> list[float]:
    """Places in order, at least `distances` apart, and as near as possible to those wanted.

    The sum of the squares of all moves is minimal: neighbours that would come too near form a
    group, which stands at the average of the places that its members want.
    """
    offsets = [0.0]
    for distance in distances:
        offsets.append(offsets[-1] + distance)
    groups: list[tuple[float, int]] = []
    for place, offset in zip(wanted, offsets, strict=False):
        total, count = place - offset, 1
        while groups and groups[-1][0] / groups[-1][1] > total / count:
            above = groups.pop()
            total, count = total + above[0], count + above[1]
        groups.append((total, count))
    starts = [total / count for total, count in groups for _ in range(count)]
    return [start + offset for start, offset in zip(starts, offsets, strict=False)]


def _in_turn(columns: list[list[_Key]], sweep: int) -> list[list[_Key]]:
    return columns[::-1] if sweep % 2 else columns


def _mean(of: Mapping[_Key, float], keys: Sequence[_Key], otherwise: float) -> float:
    return sum(of[key] for key in keys) / len(keys) if keys else otherwise


def _way(
    arrow: Arrow,
    lanes: Sequence[_Lane],
    places: Mapping[str, Place],
    middles: Mapping[_Key, float],
    x_of: Mapping[int, float],
) -> list[tuple[float, float]]:
    """The points of an arrow: from the right of a box through its lanes to the left of another."""
    beginning, end = places[arrow[0]], places[arrow[1]]
    points = [(beginning.x + WIDTH, beginning.middle)]
    for lane in lanes:
        x, y = x_of[lane[1]], round(middles[lane], 1)
        points += [(x, y), (x + WIDTH, y)]
    return [*points, (end.x, end.middle)]
