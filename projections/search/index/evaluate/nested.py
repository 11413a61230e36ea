"""Queries over the objects of an array: one object has to satisfy all of the query.

The index knows the values of all objects of a document together. That decides queries of one
condition; for others it gives candidates, whose objects are read and searched as documents of
their own, in a segment that is made for it and thrown away.
"""

from collections.abc import Callable

import numpy as np

from domain.errors import InvalidInput
from projections.search import tree
from projections.search.documents import SearchDocument
from projections.search.index.build.inverter import Inverter
from projections.search.index.evaluate.results import Matches, Sparse
from projections.search.index.evaluate.segments import DocIds, SegmentView, Snapshot
from projections.search.objects import ReadObjects
from projections.visibility.field_paths import indexed_path

MAX_CANDIDATES = 20_000
"""Documents whose objects are read for one query."""
_CHUNK = 500

Evaluate = Callable[[tree.Node], Matches]


class Nesting:
    """Evaluates nested nodes, for the length of one query; `check` raises when time is up."""

    def __init__(
        self,
        read_objects: ReadObjects | None,
        check: Callable[[], None],
        evaluate_objects: Callable[[Snapshot, SegmentView, "Nesting", tree.Node], Matches],
    ) -> None:
        self.check = check
        self._read = read_objects
        self._evaluate_objects = evaluate_objects
        self._left = MAX_CANDIDATES

    def matches(self, node: tree.Nested, view: SegmentView, evaluate: Evaluate) -> Matches:
        """The documents with an object that satisfies the node, scored as if by the document."""
        path = indexed_path(node.path)
        asked = _within(node.node, path)
        candidates = evaluate(_relaxed(asked, path))
        if _is_flat(asked):
            return candidates
        if self._read is None:
            raise InvalidInput(f"nested {node.path!r} can only have one condition here")
        ids = candidates.ids()
        if view.live is not None:
            ids = ids.compress(view.live.take(ids))
        self._left -= len(ids)
        if self._left < 0:
            raise InvalidInput(
                f"nested {node.path!r} would have to look into more than {MAX_CANDIDATES} "
                "documents: make its conditions narrower"
            )
        found = [
            self._verified(asked, path, view, ids[begin : begin + _CHUNK])
            for begin in range(0, len(ids), _CHUNK)
        ]
        ids = np.concatenate(found) if found else ids
        return Sparse(view.size, ids, candidates.scores_at(ids))

    def _verified(self, node: tree.Node, path: str, view: SegmentView, ids: DocIds) -> DocIds:
        """Those of the documents that have such an object."""
        assert self._read is not None
        self.check()
        rows = {(row := view.row(number)).id: (number, row.kind) for number in ids.tolist()}
        inverter = Inverter()
        for entity_id, objects in self._read(list(rows), path).items():
            number, kind = rows[entity_id]
            for place, fields in enumerate(objects):
                name = f"{number:010}.{place:010}"
                own = {**fields, "id": (entity_id,)}
                inverter.add(SearchDocument(name, kind, False, own, {}))
        if not len(inverter):
            return np.empty(0, np.int32)
        segment = SegmentView("objects", inverter.finish())
        inside = Nesting(None, self.check, self._evaluate_objects)
        matching = self._evaluate_objects(Snapshot((segment,), 0), segment, inside, node)
        names = [segment.row(number).id for number in matching.ids().tolist()]
        return np.unique(np.array([int(name.partition(".")[0]) for name in names], np.int32))


def _within(node: tree.Node, path: str) -> tree.Node:
    """The node with its conditions on fields that objects at `path` do not have as MatchNone."""
    below = f"{path}."
    for field in tree.named_fields(node):
        if field is not None and not f"{indexed_path(field)}.".startswith(below):
            return tree.MatchNone()
    inner_path = indexed_path(node.path) if isinstance(node, tree.Nested) else path
    return tree.map_children(node, lambda inner: _within(inner, inner_path))


def _is_flat(node: tree.Node) -> bool:
    """Whether the values of all objects together decide the node: it has but one condition."""
    match node:
        case tree.Bool(must=(), filter=(), must_not=(), should=should):
            return node.required == 1 and all(map(_is_flat, should))
        case tree.Bool(must=must, filter=filters, must_not=(), should=()):
            return len(must) + len(filters) == 1 and all(map(_is_flat, (*must, *filters)))
        case tree.Bool():
            return False
        case tree.Boosted() | tree.Constant() | tree.DisMax() | tree.Nested():
            return all(map(_is_flat, tree.children(node)))
    return not tree.children(node) and None not in tree.named_fields(node)


def _relaxed(node: tree.Node, path: str) -> tree.Node:
    """What every document with such an object matches; decides the node where `_is_flat`."""
    match node:
        case tree.MatchAll():
            return tree.Exists(path)
        case tree.Ids():
            return tree.Bool(must=(node,), filter=(tree.Exists(path),))
        case tree.Bool():
            must, should, filters = (
                tuple(_relaxed(inner, path) for inner in inners)
                for inners in (node.must, node.should, node.filter)
            )
            minimum = str(max(0, node.required))
            if not must and not filters and not node.required:
                filters = (tree.Exists(path),)
            return tree.Bool(must, should, (), filters, minimum)
        case tree.Nested(path=inner_path, node=inner):
            return _relaxed(inner, indexed_path(inner_path))
        case tree.Boosted() | tree.Constant() | tree.DisMax():
            return tree.map_children(node, lambda inner: _relaxed(inner, path))
    return tree.Exists(path) if tree.children(node) else node
