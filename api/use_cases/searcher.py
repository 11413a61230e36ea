"""Carries out searches for routes, of now or as of a position: in a thread, in the caller's turn,
within what it may see.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

from api.answers.bodies import has_left
from api.answers.remembered_answers import key_of
from api.answers.responses import Finished, Large
from api.callers.permissions import Access, Action
from api.declaring.signatures import AnyRequest
from api.errors import Forbidden
from api.services import Services
from api.use_cases.edge_sight import may_see_lineage, sight_of
from api.use_cases.measured import with_member
from api.use_cases.past import HEADER, position_asked
from api.use_cases.past_documents import PastDocuments
from projections.entities.upstream_edges import UPSTREAM, UpstreamEdges
from projections.search.answers.queries import SearchAnswer
from projections.search.documents.sources import ReadSources
from projections.search.engine import Searches, SearchesAsOf
from projections.search.index_names import kinds_named
from projections.search.restriction import Visibility

T = TypeVar("T")

Ask = Callable[[Searches, ReadSources, Visibility], T]
"""Searches with an engine and a reader of documents, in what a caller may see."""


class Searcher:
    """Answers the searches of all routes that have any."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def position(self, request: AnyRequest, at: str | None, as_of: str | None) -> int | None:
        """The position that a search is of, once this host has applied it; None for the present.

        Raises what `position_asked` raises.
        """
        if at is None and as_of is None:
            return None
        return await position_asked(self._services, request, at, as_of, searched=True)

    async def answer(
        self, request: AnyRequest, index: str, ask: Ask[SearchAnswer], at: int | None = None
    ) -> Large:
        """Search in `index`, as of a position (None: now), and answer.

        A complete answer to a GET about the present is remembered; answers about the past are not,
        as there are too many positions. Raises what `in_thread` raises.
        """
        services = self._services
        if at is not None:
            answer = await self.in_thread(request, index, ask, at)
            return services.large(request, answer.body, headers={HEADER: str(at)})
        # Read before the search: a commit meanwhile makes the answer newer, never older.
        present = self.remembered and self.remembered()
        answer = await self.in_thread(request, index, ask)
        if present is not None and answer.complete and request.method == "GET":
            services.answers.keep(key_of(request.scope), present, Finished(answer.body))
        return services.large(request, answer.body)

    async def in_thread(
        self, request: AnyRequest, index: str, ask: Ask[T], at: int | None = None
    ) -> T:
        """Search in `index`, as of a position (None: now), in a thread, for a request's caller.

        Raises Forbidden and InvalidInput for an index, and what `ask` raises.
        """
        services = self._services
        access: Access = request.auth
        visible = access.kinds(Action.SEARCH)
        check_index(index, visible)

        def work() -> T:
            with self.opened(at) as (engine, read_sources):
                return ask(engine, read_sources, visibility_of(access))

        left = partial(has_left, request.receive)
        return await services.searches.run(request.user.name, work, left)

    @contextmanager
    def opened(self, at: int | None) -> Iterator[tuple[Searches, ReadSources]]:
        """The engine and the reader of documents as of a position; None: now."""
        stores = self._services.stores
        with stores.engine.use() as engine:
            if at is None:
                yield engine, stores.documents
            else:
                yield SearchesAsOf(engine, at), PastDocuments(stores, at)

    def with_upstream(self, access: Access, ask: Ask[T]) -> Ask[T]:
        """A search like `ask`, whose documents have the visible edges that end at their entities.

        The edges come from the sorted read model, as no index has them.
        """
        if not may_see_lineage(access):
            return ask

        def asked(engine: Searches, read_sources: ReadSources, visibility: Visibility) -> T:
            with self._services.stores.entities.use() as entities, entities.edges() as reader:
                edges = UpstreamEdges(reader, sight_of(access, Action.VIEW))

                def read(ids: Sequence[str]) -> Mapping[str, bytes]:
                    return {
                        entity_id: with_member(body, UPSTREAM, edges.ending_at(entity_id))
                        for entity_id, body in read_sources(ids).items()
                    }

                return ask(engine, read, visibility)

        return asked

    def revision(self) -> Hashable:
        """Return a value that differs before answers may differ."""
        stores = self._services.stores
        return stores.engine.revision(), stores.entities.revision()

    @property
    def remembered(self) -> Callable[[], Hashable] | None:
        """The revision that remembered answers of searches must have, for `JsonRoute`.

        None where a read model is in a database or a cluster: the event loop cannot wait for these
        to tell whether it has changed.
        """
        return None if self._services.stores.looks_elsewhere else self.revision


def visibility_of(access: Access) -> Visibility:
    """Return what a caller may see of a search."""
    withheld = access.hidden.get(Action.SEARCH, {})
    return Visibility(access.kinds(Action.SEARCH), withheld, access.statuses)


def check_index(index: str, visible: frozenset[str]) -> None:
    """Raise Forbidden for a name of which the caller may search none of the kinds.

    Raises InvalidInput for a name that means nothing.
    """
    for name in index.split(","):
        kinds = kinds_named(name.strip())
        if kinds and not kinds & visible:
            raise Forbidden(f"you have no permission to search {' or '.join(sorted(kinds))}")
