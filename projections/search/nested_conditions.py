"""Conditions on the objects of an array, and what documents that have such an object must match.

An engine knows the values of all objects of a document together. That decides queries of one
condition; for others it gives candidates, whose objects must be looked at one by one.
"""

from projections.search import tree
from projections.visibility.field_paths import indexed_path


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
