"""The paths that a search index has, as far as callers make them up: not more than a bound.

Organisations put what they like into an `extension`, so that an index could get any number of
paths. Of those that nobody has declared an index has the first ones: in the order in which they
first appear in the log, and below that of their names, until one does not fit into `MAX_BYTES`.
After it none is added, so that what is searched depends on the log alone: a path once chosen stays,
whatever becomes of the entities that had it, and an index that is built anew has the same paths as
one that has grown.
"""

from collections.abc import Mapping, Sequence

import msgspec

from domain.aggregate.entity import Entity
from domain.errors import InvalidInput
from domain.event_store.entity_reads import RecordedEvent
from domain.event_store.port import EventStore
from projections.feeding.folding import Folder
from projections.search import tree
from projections.search.aggregations import TopHits, every
from projections.search.documents.documents import (
    SearchDocument,
    is_indexed,
    may_add_paths,
    undeclared_paths,
)
from projections.search.engine import EngineQuery, SearchedPaths
from projections.search.language.field_types import is_declared
from projections.visibility.field_paths import indexed_path

MAX_BYTES = 256_000
"""Bytes of all paths that are searched and not declared, `PATH_BYTES` besides for each of them."""
PATH_BYTES = 64
_READ = 1_000
_SHOWN = 80


class PathsNoted:
    """Collects the paths that become searched by the events of a batch."""

    def __init__(self, before: SearchedPaths) -> None:
        self._before = before
        self._paths = dict.fromkeys(before.paths)
        self._bytes = sum(map(_size, before.paths))
        self._full = before.full

    def note(self, before: Entity | None, after: Entity) -> None:
        """Choose the new paths of an entity, which an event has changed."""
        if self._full or not is_indexed(after):
            return
        for path in undeclared_paths(before, after):
            if path in self._paths:
                continue
            self._bytes += _size(path)
            if self._bytes > MAX_BYTES:
                self._full = True
                return
            self._paths[path] = None

    @property
    def is_filled(self) -> bool:
        """True if the first path that does not fit is one of the paths noted here."""
        return self._full and not self._before.full

    def searched(self) -> SearchedPaths:
        """The paths after the events noted so far."""
        before = self._before
        same = len(before.paths) == len(self._paths) and before.full == self._full
        return before if same else SearchedPaths(tuple(self._paths), self._full)


def searched_paths(log: EventStore, upto: int) -> SearchedPaths:
    """The paths that an index of the log up to a position searches."""
    noted, folder, reached = PathsNoted(SearchedPaths()), Folder(log), 0
    while batch := log.read(reached, _READ, upto):
        some = _concerned(batch)
        done = 0
        while done < len(some):
            _, number = folder.fold(some[done:], noted.note)
            done += number
        reached = batch[-1].position
        if noted.searched().full:
            break
    return noted.searched()


def _concerned(batch: Sequence[RecordedEvent]) -> list[RecordedEvent]:
    """The events of a batch that are needed to note new paths: all that may add paths, and all of
    the entities that other events than their creation add paths to."""
    adding = [recorded for recorded in batch if may_add_paths(recorded.event)]
    changed = {r.entity_id for r in adding if r.stream_version > 1}
    created = {r.entity_id for r in adding if r.stream_version == 1} - changed
    return [
        recorded
        for recorded in batch
        if recorded.entity_id in changed
        or (recorded.entity_id in created and recorded.stream_version == 1)
    ]


def restricted(document: SearchDocument, searched: SearchedPaths) -> SearchDocument:
    """The document without the paths that are not searched."""
    if not searched.full:
        return document
    known = searched.known
    fields: Mapping[str, tuple[object, ...]] = {
        path: values
        for path, values in document.fields.items()
        if path in known or is_declared(path)
    }
    return msgspec.structs.replace(document, fields=fields)


def check_searched(query: EngineQuery, searched: SearchedPaths) -> None:
    """Raise InvalidInput for a query on a path that entities may have and nobody searches."""
    if searched.full:
        for path in sorted(asked_paths(query)):
            below = f"{path}."
            if path not in searched.known and not any(p.startswith(below) for p in searched.paths):
                raise InvalidInput(
                    f"{path[:_SHOWN]!r} is not searched: the index has {len(searched.paths):,}"
                    " paths that no kind declares, and takes no more (docs/limits.md)"
                )


def asked_paths(query: EngineQuery) -> set[str]:
    """The indexed paths which a query names and nobody has declared."""
    nodes = [query.tree, query.filter, query.post_filter, *(f.filter for f in query.facets)]
    fields = {field for node in nodes if node is not None for field in _named(node)}
    counted = (each for facet in query.facets for each in every(facet.aggregation))
    fields |= {each.field for each in counted if not isinstance(each, TopHits)}
    return {path for path in map(indexed_path, fields) if path != "_id" and not is_declared(path)}


def _named(node: tree.Node) -> set[str]:
    """The fields that a node and all nodes inside it name."""
    fields = {field for field in tree.named_fields(node) if field is not None}
    for inner in tree.children(node):
        fields |= _named(inner)
    return fields


def _size(path: str) -> int:
    return len(path.encode()) + PATH_BYTES
