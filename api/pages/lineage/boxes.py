"""The boxes of a picture: entities, and groups of those that have a schema or service in common."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

import msgspec

from domain.kinds import names
from projections.entities.lineage import Node

MOST_ALONE = 40
"""Boxes up to which a picture has one for each entity, or else for each schema."""
MOST_OF_LAYER = 40
"""Boxes of one layer that are shown at once."""
MOST_BOXES = 300
"""Boxes of a picture, of which those of the nearest layers are drawn."""


class Sort(StrEnum):
    """The sort of thing that a box stands for."""

    ENTITY = "entity"
    GROUP = "group"
    """The entities of a layer that lie in the same schema or service."""
    EARLIER = "earlier"
    """Boxes of a layer whose names come before those that are shown."""
    LATER = "later"


class Box(msgspec.Struct, frozen=True):
    """An entity, or several of one layer."""

    sort: Sort
    layer: int
    name: str
    """The qualified name of the entity, or of the schema or service of the group; for boxes that
    are not shown, the name after which the next page begins."""
    members: Sequence[Node]

    @property
    def key(self) -> str:
        """A text that identifies the box in its picture."""
        if self.sort is Sort.ENTITY:
            return self.members[0].id
        return f"{self.sort}.{self.layer}.{self.name}"


def boxes_of(
    nodes: Iterable[Node], layers: Mapping[str, int], opened: str, after: str
) -> tuple[list[Box], int]:
    """The boxes of a picture, the nearest layers first, and the number of entities that have none.

    Where there are many entities, those of a schema are one box in each layer, or where even these
    are many, those of a service. The group named `opened` is unfolded: a service to its schemas, a
    schema to its entities. In a layer with many boxes, those behind the name `after` are shown.
    """
    in_layers: defaultdict[int, list[Node]] = defaultdict(list)
    for node in sorted(nodes, key=lambda node: (node.fully_qualified_name, node.type, node.id)):
        in_layers[layers[node.id]].append(node)
    boxes: dict[int, list[Box]] = {}
    for grain in (_no_group, _schema, _service):
        boxes = {
            layer: _grouped(layer, [(node, grain(node, opened)) for node in members])
            for layer, members in in_layers.items()
        }
        if sum(map(len, boxes.values())) <= MOST_ALONE:
            break
    shown: list[Box] = []
    for layer in sorted(boxes, key=lambda layer: (abs(layer), layer)):
        page = _page(layer, boxes[layer], after)
        if len(shown) + len(page) > MOST_BOXES:
            break
        shown += page
    total = sum(map(len, in_layers.values()))
    return shown, total - sum(len(box.members) for box in shown)


def _grouped(layer: int, nodes: Iterable[tuple[Node, str]]) -> list[Box]:
    """The boxes of a layer, of entities with the names of their groups.

    An entity that is alone in its group, or has none, has a box of its own.
    """
    groups: defaultdict[str, list[Node]] = defaultdict(list)
    for node, group in nodes:
        groups[group].append(node)
    alone = groups.pop("", [])
    boxes = [
        Box(Sort.GROUP, layer, name, members)
        for name, members in groups.items()
        if len(members) > 1
    ]
    alone += [members[0] for members in groups.values() if len(members) == 1]
    boxes += [Box(Sort.ENTITY, layer, node.fully_qualified_name, (node,)) for node in alone]
    return sorted(boxes, key=lambda box: (box.name, box.key))


def _page(layer: int, boxes: list[Box], after: str) -> list[Box]:
    """The boxes of a layer from a name on, and one each for those before and behind them."""
    if len(boxes) <= MOST_OF_LAYER:
        return boxes
    start = bisect_right(boxes, after, key=lambda box: box.name)
    end = start + MOST_OF_LAYER
    page = boxes[start:end]
    if earlier := boxes[:start]:
        before = boxes[start - MOST_OF_LAYER - 1].name if start > MOST_OF_LAYER else ""
        page.insert(0, Box(Sort.EARLIER, layer, before, _members(earlier)))
    if later := boxes[end:]:
        page.append(Box(Sort.LATER, layer, boxes[end - 1].name, _members(later)))
    return page


def _members(boxes: Iterable[Box]) -> list[Node]:
    return [node for box in boxes for node in box.members]


def _no_group(*_: object) -> str:
    return ""


def _schema(node: Node, opened: str) -> str:
    """The group of an entity by schemas, nothing for one in the schema that is unfolded.

    A schema is here what the entity lies in, whatever its kind; what lies in nothing has no group.
    """
    parts = names.split(node.fully_qualified_name)
    holder = names.join(parts[:-1]) if len(parts) > 1 else ""
    return "" if holder == opened else holder


def _service(node: Node, opened: str) -> str:
    """The group of an entity by services; by schemas in the service that is unfolded."""
    parts = names.split(node.fully_qualified_name)
    service = names.join(parts[:1]) if len(parts) > 1 else ""
    if f"{opened}.".startswith(f"{service}."):
        return _schema(node, opened)
    return service
