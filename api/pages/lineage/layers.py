"""The layers of a layered picture: from left to right, with the entity that it is of at 0."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

Arrow = tuple[str, str]
"""The ids of the boxes, or entities, that an arrow leads from and to."""


def layers_of(root: str, arrows: Iterable[Arrow]) -> dict[str, int]:
    """The layer of each node that a way leads to from the root, or from which one leads there.

    Nodes that are made of the root have layers above 0, nodes that it is made of layers below. Each
    arrow leads to a higher layer, and nodes are as near to the root as that allows; of a circle one
    arrow leads back. The work is linear in the number of arrows.
    """
    leaving: defaultdict[str, list[str]] = defaultdict(list)
    ending: defaultdict[str, list[str]] = defaultdict(list)
    for beginning, end in dict.fromkeys(arrows):
        if beginning != end:
            leaving[beginning].append(end)
            ending[end].append(beginning)
    downstream = _longest_ways(root, leaving)
    upstream = _longest_ways(root, ending)
    return {node: -steps for node, steps in upstream.items()} | downstream


def _longest_ways(root: str, following: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """The length of the longest way from the root to each node, but for ways through circles."""
    finished, closing = _depth_first(root, following)
    steps = {root: 0}
    for node in reversed(finished):
        for each in following.get(node, ()):
            if (node, each) not in closing:
                steps[each] = max(steps.get(each, 0), steps[node] + 1)
    return steps


def _depth_first(root: str, following: Mapping[str, Sequence[str]]) -> tuple[list[str], set[Arrow]]:
    """The nodes in the order in which a depth-first walk leaves them, and the closing arrows."""
    finished: list[str] = []
    closing: set[Arrow] = set()
    entered, open_nodes = {root}, {root}
    way = [(root, iter(following.get(root, ())))]
    while way:
        node, rest = way[-1]
        for each in rest:
            if each in open_nodes:
                closing.add((node, each))
            elif each not in entered:
                entered.add(each)
                open_nodes.add(each)
                way.append((each, iter(following.get(each, ()))))
                break
        else:
            way.pop()
            open_nodes.discard(node)
            finished.append(node)
    return finished, closing
