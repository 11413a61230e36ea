"""Single documents of searches, those of a source, and all that a search finds as CSV."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Annotated, Any, Literal

from litestar import Request
from litestar.handlers import HTTPRouteHandler
from litestar.params import PathParameter

from api.answers.responses import Heavy, Large
from api.callers.permissions import Access, Action, Permission
from api.declaring.declared_query import Parameters
from api.declaring.signatures import ENTITY_ID, id_in_path, route
from api.declaring.spellings import Rows, both_spellings, given_values
from api.routes.search.searches import INDEX, PAGE, Q, encoded, parameter
from api.services import Services
from api.use_cases.searcher import Searcher, check_index
from projections.search.answers.csv_export import export
from projections.search.answers.queries import SearchRequest, search
from projections.search.answers.single_documents import single_document
from projections.search.documents.documents import SORTABLE
from projections.search.documents.sources import ReadSources
from projections.search.engine import SearchEngine
from projections.search.index_names import ALL
from projections.search.restriction import Visibility

CSV = "text/csv"
_SOURCE: Parameters = {
    "source_url": parameter("sourceUrl", str, ..., "The whole address of the source."),
    **PAGE,
}
_DOCUMENT: Parameters = {
    "index": (Annotated[str, PathParameter(description=INDEX)], ...),
    **ENTITY_ID,
}
EXPORT_PARAMETERS: Rows = (
    ("q", str | None, "", Q),
    ("index", str, ALL, INDEX),
    ("deleted", bool, False, "Include soft-deleted entities."),
    ("sortField", str | None, None, f"Instead of by name: {', '.join(SORTABLE)} or _score."),
    ("sortOrder", Literal["asc", "desc"] | None, None, "Direction of sortField."),
    ("queryFilter", str | None, None, "JSON filter in the query DSL."),
    ("postFilter", str | None, None, "Another one."),
)
"""Each may be given in snake_case too."""


def document_routes(services: Services, searcher: Searcher) -> list[HTTPRouteHandler]:
    """The routes of documents that searches find."""
    stores = services.stores

    async def by_source(request: Request[Any, Any, Any], deleted: bool, **given: Any) -> Large:
        sought = SearchRequest(
            q="", deleted=deleted, only_deleted=deleted, include_aggregations=False, **given
        )
        return await searcher.answer(request, sought.index, partial(search, sought))

    async def by_id(request: Request[Any, Any, Any], index: str, entity_id: str) -> Large:
        ask = partial(single_document, index, id_in_path(entity_id))
        return await searcher.answer(request, index, ask)

    def as_csv(request: Request[Any, Any, Any], **given: Any) -> Heavy:
        values = given_values(EXPORT_PARAMETERS, given)
        access: Access = request.auth
        visible = access.kinds(Action.SEARCH)
        check_index(values["index"], visible)
        sought = SearchRequest(
            q=values["q"],
            index=values["index"],
            size=1,
            deleted=values["deleted"],
            sort_field=values["sortField"],
            sort_order=values["sortOrder"],
            query_filter=encoded(values["queryFilter"]),
            post_filter=encoded(values["postFilter"]),
        )
        visibility = Visibility.of(visible, access.hidden.get(Action.SEARCH, {}))
        parts = export(sought, visibility, opened)
        headers = {"Content-Disposition": 'attachment; filename="search.csv"'}
        caller: str = request.user.name
        return Heavy(parts, caller, services.heavy_reads, services.streams, headers, CSV)

    @contextmanager
    def opened() -> Iterator[tuple[SearchEngine, ReadSources]]:
        with stores.engine.use() as engine:
            yield engine, stores.documents

    searching, revision = Permission(Action.SEARCH), searcher.remembered
    export_parameters = both_spellings(EXPORT_PARAMETERS)
    document = "/v1/search/get/{index:str}/doc/{entity_id:str}"
    return [
        route("GET", "/v1/search/sourceUrl", searching, by_source, _SOURCE, revision=revision),
        route("GET", document, searching, by_id, _DOCUMENT),
        route("GET", "/v1/search/export", searching, as_csv, export_parameters),
    ]
