"""Queries over the objects of an array: one object has to satisfy all of the query.

An engine knows the values of all objects of a document together. That gives candidates, whose
objects are read and searched as documents of their own.

One entity is read at a time, and the clock is looked at before each object. When time is short, the
candidates that were not looked at are undecided: the search leaves them out of its hits whatever
its other conditions say of them, so that what it gives is true, also below a `must_not`.
"""

from collections.abc import Callable, Iterable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from domain.errors import InvalidInput
from projections.search import tree
from projections.search.documents.sources import Fields, ReadObjects
from projections.search.matching.deadline import Deadline
from projections.search.matching.stored_document import StoredDocument
from projections.visibility.field_paths import indexed_path

MAX_CANDIDATES = 20_000
"""Documents whose objects are read for one query."""


def within(node: tree.Node, path: str) -> tree.Node:
    """The node with its conditions on fields that objects at `path` do not have as MatchNone."""
    below = f"{path}."
    for field in tree.named_fields(node):
        if field is not None and not f"{indexed_path(field)}.".startswith(below):
            return tree.MatchNone()
    inner_path = indexed_path(node.path) if isinstance(node, tree.Nested) else path
    return tree.map_children(node, lambda inner: within(inner, inner_path))


def is_flat(node: tree.Node) -> bool:
    """Return True if the values of all objects together decide the node, by one condition."""
    match node:
        case tree.Bool(must=(), filter=(), must_not=(), should=should):
            return node.required == 1 and all(map(is_flat, should))
        case tree.Bool(must=must, filter=filters, must_not=(), should=()):
            return len(must) + len(filters) == 1 and all(map(is_flat, (*must, *filters)))
        case tree.Bool():
            return False
        case tree.Boosted() | tree.Constant() | tree.DisMax() | tree.Nested():
            return all(map(is_flat, tree.children(node)))
    return not tree.children(node) and None not in tree.named_fields(node)


def relaxed(node: tree.Node, path: str) -> tree.Node:
    """Return a node for every document with such an object; it decides where `is_flat`."""
    match node:
        case tree.MatchAll():
            return tree.Exists(path)
        case tree.Ids():
            return tree.Bool(must=(node,), filter=(tree.Exists(path),))
        case tree.Bool():
            must, should, filters = (
                tuple(relaxed(inner, path) for inner in inners)
                for inners in (node.must, node.should, node.filter)
            )
            minimum = str(max(0, node.required))
            if not must and not filters and not node.required:
                filters = (tree.Exists(path),)
            return tree.Bool(must, should, (), filters, minimum)
        case tree.Nested(path=inner_path, node=inner):
            return relaxed(inner, indexed_path(inner_path))
        case tree.Boosted() | tree.Constant() | tree.DisMax():
            return tree.map_children(node, lambda inner: relaxed(inner, path))
    return tree.Exists(path) if tree.children(node) else node


class ObjectSearch(Protocol):
    """Searches the objects of candidates for one condition."""

    matching: NDArray[np.bool_]
    """(candidates,): True for those with a matching object, once `flush` was called."""

    def add(self, place: int, kind: str, fields: Fields) -> None:
        """Add an object of the candidate at a place."""

    def flush(self) -> None:
        """Search the objects that were added since the last time."""


SearchObjects = Callable[[int, tree.Node, Deadline], ObjectSearch]
"""Function of the number of candidates, the condition and the deadline: a search of the objects."""


class Candidates:
    """Decides which candidates have an object that a nested node asks for, for one query."""

    def __init__(
        self, read_objects: ReadObjects | None, deadline: Deadline, search: SearchObjects
    ) -> None:
        """Without `read_objects`, a node that needs objects to be read is refused."""
        self.deadline = deadline
        self._read = read_objects
        self._search = search
        self.left = MAX_CANDIDATES
        """Number of documents whose objects the query may still read."""

    def decide(
        self, node: tree.Nested, count: int, candidates: Iterable[StoredDocument]
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Two masks over `count` candidates: those with such an object, and the undecided ones.

        Raises InvalidInput for more candidates than one query may have.
        """
        if self._read is None:
            raise InvalidInput(f"nested {node.path!r} can only have one condition here")
        self.left -= count
        if self.left < 0:
            raise InvalidInput(
                f"nested {node.path!r} would have to look into more than {MAX_CANDIDATES} "
                "documents: make its conditions narrower"
            )
        path = indexed_path(node.path)
        search = self._search(count, within(node.node, path), self.deadline)
        ended = count
        for place, stored in enumerate(candidates):
            if not self._add_objects(search, place, stored, self._read(stored.id, path)):
                ended = place
                break
        search.flush()
        undecided = ~search.matching
        undecided[:ended] = False
        return search.matching, undecided

    def _add_objects(
        self, search: ObjectSearch, place: int, stored: StoredDocument, objects: Iterable[Fields]
    ) -> bool:
        """Add the objects of a candidate; False when time is short before all of them are."""
        if self.deadline.is_near():
            return False
        for fields in objects:
            if self.deadline.is_near():
                return False
            search.add(place, stored.kind, {**fields, "id": (stored.id,)})
        return True
