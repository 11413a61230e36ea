"""The composition root: settings in, a Litestar application out."""

from asyncio import sleep
from collections.abc import Callable
from functools import partial
from typing import Any

from litestar import Litestar, Response
from litestar.handlers import HTTPRouteHandler
from litestar.routes import HTTPRoute
from litestar.utils import normalize_path

from api.answers.bodies import MAX_BODY_BYTES, MAX_BODY_BYTES_OF_ALL
from api.callers.client_address import client_addresses, read_networks
from api.callers.limits import Places, RateLimit
from api.callers.permissions import PUBLIC
from api.callers.policies import Policies
from api.callers.sign_in.provider import Provider
from api.callers.sign_in.sessions import Sessions
from api.callers.tokens.verifier import TokenVerifier
from api.edge.access import AccessMiddleware, Guard
from api.edge.known_routes import routes_instead
from api.edge.quick_path import QuickPath
from api.edge.request_log import RequestRecorder
from api.errors import progress_of, render
from api.mcp.door import mcp_routes
from api.mcp.protected_resource import (
    challenges,
    protected_resource,
    protected_resource_routes,
)
from api.openapi.docs import docs_routes
from api.openlineage.routes import openlineage_routes
from api.pages.contracts.impact import impact_pages
from api.pages.contracts.results import result_pages
from api.pages.entities.browse import browse_pages
from api.pages.entities.edit import edit_pages
from api.pages.entities.entity import entity_pages
from api.pages.entities.lineage_page import lineage_pages
from api.pages.entities.lists import list_pages
from api.pages.entities.steps import step_pages
from api.pages.frame.rendering import AnyRequest, Renderer
from api.pages.frame.routing import page, show_asset, wants_page
from api.pages.history.activity import activity_pages
from api.pages.history.audit import audit_pages
from api.pages.history.changed import changed_pages
from api.pages.history.history import history_pages
from api.pages.lineage.unresolved import unresolved_pages
from api.pages.operation.operation import operation_pages
from api.pages.search.search import search_pages
from api.pages.sign_in import sign_in_routes
from api.routes.connectors.first_questions import first_question_routes
from api.routes.connectors.types import type_routes
from api.routes.contracts.badges import badge_routes
from api.routes.contracts.comparisons import comparison_routes
from api.routes.contracts.dbt import dbt_routes
from api.routes.contracts.documents import odcs_routes
from api.routes.contracts.results import contract_result_routes
from api.routes.contracts.tools import tool_routes
from api.routes.entities.columns import column_routes
from api.routes.entities.differences import difference_routes
from api.routes.entities.logical_suites import logical_suite_routes
from api.routes.entities.reads import read_routes
from api.routes.entities.writes import write_routes
from api.routes.lineage.reads import lineage_read_routes
from api.routes.lineage.writes import lineage_write_routes
from api.routes.measurements.ingestion_runs import ingestion_run_routes
from api.routes.measurements.reports import measurement_routes, test_result_routes
from api.routes.measurements.runs import pipeline_run_routes
from api.routes.measurements.samples import sample_routes
from api.routes.measurements.usage import usage_routes
from api.routes.measurements.workflow import join_routes, query_cost_routes
from api.routes.search.documents import document_routes
from api.routes.search.facets import facet_routes
from api.routes.search.searches import search_routes
from api.routes.system.audit import audit_routes
from api.routes.system.system import system_routes
from api.services import Services
from api.telemetry.logs import AccessLog, LogWriter
from api.telemetry.metrics import Metrics
from api.use_cases.searcher import Searcher
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import KINDS

Handlers = list[HTTPRouteHandler]


class Application(Litestar):
    """Litestar's application, inside the edge, which sees requests that no route takes too."""

    edge: RequestRecorder
    quick: QuickPath
    late: dict[str, Callable[[], Handlers]]
    """Path of a collection, or of the use of all -> function that makes its handlers.

    A function stays here until the first request for its path: making the handlers of all kinds
    would take most of a start, and most servers are asked for few kinds.
    """
    unmounted: Handlers
    """Registered handlers that only the quick path knows.

    Mounting handlers takes Litestar longer than making them, and most requests do not need it.
    """

    async def register_rest(self) -> None:
        """Register and mount all handlers that no request has needed, giving way to requests."""
        self.mount()
        while self.late:
            self._register_late(next(iter(self.late)))
            self.mount()
            await sleep(0)

    def _register_late(self, collection: str) -> None:
        self.register_all(self.late.pop(collection)())

    def register_all(self, handlers: Handlers) -> None:
        """Register handlers, all of each path; Litestar learns of them when it is needed."""
        self.quick.add(handlers)
        self.unmounted += handlers

    def mount(self) -> None:
        """Have Litestar learn of all registered handlers: one by one takes it far longer.

        One handler of each path stands for OPTIONS too, which the access middleware answers.
        Litestar would make another one for it.
        """
        if not self.unmounted:
            return
        paths: dict[str, list[HTTPRouteHandler]] = {}
        handlers, self.unmounted = self.unmounted, []
        for handler in handlers:
            handler.owner = self
            handler.on_registration(self)
            (path,) = handler.paths
            paths.setdefault(path, []).append(handler)
        for path, together in paths.items():
            together[0].http_methods.add("OPTIONS")
            route = HTTPRoute(path=path, route_handlers=together)
            route.create_handler_map()
            self.routes.append(route)
        self.asgi_router.construct_routing_trie()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request, or run the life of the application."""
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
        else:
            await self.edge(scope, receive, send, self._dispatch)

    async def _dispatch(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request by the quick path, or by all of Litestar."""
        answer = self.quick.application(scope)
        if answer is None and self.late:
            # The path as the router reads it; one that only looks like a collection's does no harm.
            asked = normalize_path(scope["path"])
            if collections := [each for each in self.late if each in asked]:
                for collection in collections:
                    self._register_late(collection)
                answer = self.quick.application(scope)
        if answer is None:
            self.mount()
            answer = super().__call__
        await answer(scope, receive, send)


def create_app(
    services: Services, verifier: TokenVerifier, writer: LogWriter, metrics: Metrics
) -> Application:
    """The application over opened stores; it opens and closes nothing itself.

    Raises InvalidInput for settings of the pages that do not go together.
    """
    settings = services.settings
    rate_limit = RateLimit(settings.rate_limit, settings.rate_burst)
    policies = Policies(settings.policies)
    resource = protected_resource(settings, verifier.issuers)
    guard = Guard(verifier, policies, rate_limit, services.positions, challenges(resource))
    searcher = Searcher(services)
    sessions = Sessions(settings, verifier.safe)
    provider = Provider(settings, sessions, verifier)
    renderer = Renderer(sessions, has_provider=provider.is_set)
    handlers = [
        *search_routes(searcher),
        *facet_routes(searcher),
        *document_routes(services, searcher),
        *lineage_read_routes(services),
        *lineage_write_routes(services),
        *openlineage_routes(services),
        *audit_routes(services),
        *difference_routes(services),
        *first_question_routes(),
        *type_routes(services),
        *measurement_routes(services),
        *sample_routes(services),
        *join_routes(services),
        *column_routes(services),
        *odcs_routes(services),
        *contract_result_routes(services),
        *comparison_routes(services),
        *badge_routes(services),
        *tool_routes(services),
        *dbt_routes(services),
        *logical_suite_routes(services),
        *query_cost_routes(services),
        *test_result_routes(services),
        *pipeline_run_routes(services),
        *ingestion_run_routes(services),
        *system_routes(services, metrics, verifier),
        *docs_routes(),
        *mcp_routes(services, searcher, sessions),
        *protected_resource_routes(resource),
        *browse_pages(services, renderer),
        *list_pages(services, renderer),
        *search_pages(services, searcher, renderer),
        *entity_pages(services, renderer),
        *history_pages(services, renderer),
        *changed_pages(services, renderer),
        *impact_pages(services, renderer),
        *lineage_pages(services, renderer),
        *unresolved_pages(services, renderer),
        *result_pages(services, sessions, renderer),
        *audit_pages(services, renderer),
        *activity_pages(services, renderer),
        *operation_pages(services, policies, metrics, sessions, renderer),
        *edit_pages(services, searcher, sessions, renderer),
        *step_pages(services, sessions, renderer),
        *sign_in_routes(settings, sessions, verifier, provider, renderer),
        page("/static/{digest:str}/{name:str}", PUBLIC, show_asset),
    ]
    app = Application(
        middleware=[AccessMiddleware(guard, sessions.authorization)],
        lifespan=[verifier.refreshing],
        exception_handlers={Exception: partial(_answer_error, renderer)},
        openapi_config=None,  # or Litestar would serve pages of its own; see api.openapi
        logging_config=None,
    )
    app.quick = QuickPath(guard, services.answers)
    app.unmounted = []
    app.register_all(handlers)
    app.late = {
        f"/v1/{kind.collection}": partial(_entity_routes, kind, services) for kind in KINDS.values()
    }
    app.late["/v1/usage"] = partial(usage_routes, services)
    log = AccessLog(writer, wanted=settings.access_log)
    address_of = client_addresses(read_networks(settings.trusted_proxies))
    bodies = Places(MAX_BODY_BYTES, "bytes of bodies", MAX_BODY_BYTES_OF_ALL)
    metrics.watch(
        {
            "writes": services.writes,
            "long writes": services.long_writes,
            "searches": services.searches,
            "lookups": services.lookups,
            "large reads": services.heavy_reads,
        }
    )
    app.edge = RequestRecorder(metrics, log, app.quick.answer, bodies, address_of)
    return app


def _answer_error(renderer: Renderer, request: AnyRequest, error: Exception) -> Response[bytes]:
    """The answer to any exception: a page for a person, JSON for a program."""
    answer = render(request, error, routes_instead(request.app.routes, request, error))
    if not wants_page(request.scope):
        return answer
    return renderer.error(request, answer, goes_on=progress_of(error) is not None)


def _entity_routes(kind: EntityKind, services: Services) -> Handlers:
    return [*read_routes(kind, services), *write_routes(kind, services)]
