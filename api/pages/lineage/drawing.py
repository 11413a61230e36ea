"""The picture of a walk: boxes and arrows with their texts, as templates fill them in."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any
from unicodedata import east_asian_width

import msgspec

from api.pages.frame.documents import words
from api.pages.lineage.boxes import Box, Sort, boxes_of
from api.pages.lineage.column_path import NO_PATH, ColumnPath, columns_of, path_of
from api.pages.lineage.layers import Arrow, layers_of
from api.pages.lineage.layout import Place, laid_out
from api.pages.lineage.walk import Step, Walk
from domain.kinds import names
from domain.kinds.registry import KINDS

MOST_ARROWS = 1_500
"""Arrows of a picture, those of the nearest layers first."""
MOST_NAMED = 12
"""Names of a kind that a text of the picture has."""
COLUMNS_OF_ROOT, COLUMNS_ON_PATH = 8, 5
"""Columns that the box of the picture's entity shows, and each box on the path of a column."""
_HEAD, _ROW = 42.0, 17.0
"""Pixels of a box without columns, and of a column in it."""
_BACK = 50.0, 90.0
"""Pixels that a curve which leads back goes to the side, and below the boxes that it joins."""
_MARGIN, _WIDE_MARGIN = 8.0, 56.0
"""Pixels around a picture, and around one with such curves."""
_UNITS, _SMALL_UNITS = 25, 30
"""Narrow characters that fit into a box in each of its two lines."""


class Asked(msgspec.Struct, frozen=True):
    """The part of a picture that a request is for."""

    column: str = ""
    """Qualified name of the column whose path is lit."""
    opened: str = ""
    """Qualified name of the service or schema that is unfolded."""
    after: str = ""
    """Name behind which the boxes of large layers begin."""


class ShownBox(msgspec.Struct, frozen=True):
    """A box as the picture and the list show it."""

    box: Box
    place: Place
    title: str
    title_cut: str
    below: str
    """Kind and place of the entity, or kinds of several: `table · shop.sales`, `132 tables`."""
    below_cut: str
    columns: list[tuple[str, str, bool]]
    """Each column that is shown: its name in the entity, its qualified name, True if it is lit."""
    more_columns: int
    lit: bool
    is_root: bool
    deleted: bool
    sources: list[str]
    """Titles of boxes that arrows lead from to this one."""
    more_sources: int
    pipelines: list[str]


class ShownArrow(msgspec.Struct, frozen=True):
    """An arrow as the picture shows it."""

    path: str
    """The value of `d` of a path in SVG."""
    title: str
    lit: bool
    back: bool
    """True if it closes a circle, and leads to the left."""


def drawing(walk: Walk, asked: Asked) -> dict[str, Any]:
    """The values of the template of a picture; the work is bounded by the bounds of the walk."""
    layers = layers_of(walk.root.id, walk.steps)
    boxes, undrawn = boxes_of(walk.nodes.values(), layers, asked.opened, asked.after)
    flows = [step.flow for step in walk.steps.values()]
    ids = {node.fully_qualified_name: node.id for node in walk.nodes.values()}
    path = path_of(asked.column, flows, ids) if asked.column else NO_PATH
    of_root = [*columns_of(walk.root.id, flows)]
    box_of = {node.id: box.key for box in boxes for node in box.members}
    bundles = _bundles(walk.steps, box_of, path)
    drawn = dict(sorted(bundles.items(), key=lambda each: not each[1].lit)[:MOST_ARROWS])
    columns = {box.key: _columns(walk, box, path, of_root) for box in boxes}
    heights = {
        key: _HEAD + _ROW * (len(shown) + (1 if more else 0))
        for key, (shown, more) in columns.items()
    }
    order = sorted(boxes, key=lambda box: (box.layer, _place_in_layer(box)))
    layout = laid_out({box.key: box.layer for box in order}, heights, drawn)
    titles = {box.key: _title(box) for box in boxes}
    ending: defaultdict[str, list[str]] = defaultdict(list)
    pipelines: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for (beginning, end), bundle in drawn.items():
        ending[end].append(titles[beginning])
        pipelines[end] |= bundle.pipelines
    shown = [
        ShownBox(
            box=box,
            place=layout.places[box.key],
            title=titles[box.key],
            title_cut=fitted(titles[box.key]),
            below=_below(box),
            below_cut=_below_cut(_below(box)),
            columns=columns[box.key][0],
            more_columns=columns[box.key][1],
            lit=any(node.id in path.columns for node in box.members),
            is_root=any(node.id == walk.root.id for node in box.members),
            deleted=all(node.deleted for node in box.members),
            sources=ending[box.key][:MOST_NAMED],
            more_sources=len(ending[box.key][MOST_NAMED:]),
            pipelines=[*pipelines[box.key]][:MOST_NAMED],
        )
        for box in order
    ]
    arrows = [
        ShownArrow(
            path=_curve(layout.ways[arrow]),
            title=bundle.title(titles[arrow[0]], titles[arrow[1]]),
            lit=bundle.lit,
            back=layout.places[arrow[0]].x >= layout.places[arrow[1]].x,
        )
        for arrow, bundle in sorted(drawn.items(), key=lambda each: each[1].lit)
    ]
    return {
        "width": layout.width,
        "height": layout.height,
        "margin": _WIDE_MARGIN if any(arrow.back for arrow in arrows) else _MARGIN,
        "boxes": sorted(shown, key=lambda each: (each.box.layer, each.place.y)),
        "arrows": arrows,
        "undrawn": undrawn,
        "undrawn_arrows": len(bundles) - len(drawn),
        "column": asked.column if path.columns else "",
        "columns": [_short(walk.root.fully_qualified_name, each) for each in of_root],
        "unknown_column": bool(asked.column) and not path.columns,
    }


class _Bundle(msgspec.Struct):
    """All edges that one arrow stands for."""

    edges: int = 0
    columns: int = 0
    lit: bool = False
    pipelines: dict[str, None] = msgspec.field(default_factory=dict)

    def title(self, beginning: str, end: str) -> str:
        """The words for the arrow."""
        said = f"{beginning} → {end}"
        if self.edges > 1:
            said += f", {self.edges:,} edges"
        if self.columns:
            said += f", {self.columns:,} column{'s' if self.columns > 1 else ''}"
        if self.pipelines:
            said += f", by {', '.join([*self.pipelines][:MOST_NAMED])}"
        return said


def _bundles(
    steps: Mapping[Arrow, Step], box_of: Mapping[str, str], path: ColumnPath
) -> dict[Arrow, _Bundle]:
    """Put the edges between two boxes together to an arrow, in the order of the walk."""
    bundles: dict[Arrow, _Bundle] = {}
    for arrow, step in steps.items():
        beginning, end = (box_of.get(each) for each in arrow)
        if beginning is None or end is None or beginning == end:
            continue
        bundle = bundles.setdefault((beginning, end), _Bundle())
        bundle.edges += 1
        bundle.columns += len(step.flow.mappings)
        bundle.lit = bundle.lit or arrow in path.arrows
        if step.pipeline is not None:
            bundle.pipelines[step.pipeline.name] = None
    return bundles


def _columns(
    walk: Walk, box: Box, path: ColumnPath, of_root: Iterable[str]
) -> tuple[list[tuple[str, str, bool]], int]:
    """The columns that a box shows, and the number of columns that it leaves out."""
    if box.sort is not Sort.ENTITY:
        return [], 0
    (node,) = box.members
    lit = path.columns.get(node.id, {})
    most = COLUMNS_ON_PATH
    shown = dict.fromkeys(lit)
    if node.id == walk.root.id:
        most = COLUMNS_OF_ROOT
        shown |= dict.fromkeys(of_root)
    fqn = node.fully_qualified_name
    rows = [(*_short(fqn, each), each in lit) for each in [*shown][:most]]
    return rows, len(shown) - len(rows)


def _short(entity: str, column: str) -> tuple[str, str]:
    """A column's name in its entity, and its qualified name."""
    return column.removeprefix(f"{entity}."), column


def _place_in_layer(box: Box) -> tuple[int, str]:
    return ((Sort.EARLIER, Sort.ENTITY, Sort.GROUP, Sort.LATER).index(box.sort), box.name)


def _title(box: Box) -> str:
    if box.sort is Sort.ENTITY:
        return box.members[0].name
    if box.sort is Sort.GROUP:
        return box.name
    return f"{len(box.members):,} {'before' if box.sort is Sort.EARLIER else 'more'}"


def _below(box: Box) -> str:
    if box.sort is Sort.ENTITY:
        node = box.members[0]
        parts = names.split(node.fully_qualified_name)
        place = f" · {names.join(parts[:-1])}" if len(parts) > 1 else ""
        return f"{words(node.type)}{place}"
    kinds = Counter(words(KINDS[node.type].collection.rpartition("/")[2]) for node in box.members)
    return ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())


def _below_cut(below: str) -> str:
    """Cut the second line of a box; a place is cut at its beginning, as its end differs more."""
    kind, between, place = below.partition(" · ")
    if not between:
        return fitted(below, _SMALL_UNITS)
    room = max(_SMALL_UNITS - len(kind + between), 1)
    return f"{kind}{between}{fitted(place[::-1], room)[::-1]}"


def fitted(text: str, units: int = _UNITS) -> str:
    """Cut a text to the room of a line in a box; an ellipsis ends a text that is cut.

    Ideographs take twice the room of letters.
    """
    room = units
    for number, character in enumerate(text):
        room -= 2 if east_asian_width(character) in "WF" else 1
        if room < 0:
            return f"{text[: max(number - 1, 0)]}…"
    return text


def _curve(points: list[tuple[float, float]]) -> str:
    """A path in SVG through points: each leads on in a level curve, or back in one below."""
    (x, y), *rest = points
    path = f"M{x:g} {y:g}"
    for to_x, to_y in rest:
        bend, drop = ((to_x - x) / 2, 0.0) if to_x >= x else _BACK
        path += f"C{x + bend:g} {y + drop:g} {to_x - bend:g} {to_y + drop:g} {to_x:g} {to_y:g}"
        x, y = to_x, to_y
    return path
