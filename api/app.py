"""The composition root: settings in, a Litestar application out."""

from typing import Any, Self

from litestar import Litestar, Router
from litestar.handlers import HTTPRouteHandler

from api.access import AccessMiddleware, Guard
from api.direct_reads import DirectReads
from api.docs import docs_routes
from api.errors import render
from api.limits import RateLimit
from api.log_writer import LogWriter
from api.logs import AccessLog
from api.metrics import Metrics
from api.policies import open_policies
from api.request_log import Edge
from api.routes.audit import audit_routes
from api.routes.connection_tests import connection_test_routes
from api.routes.reads import read_routes
from api.routes.search import search_routes
from api.routes.system import system_routes
from api.routes.writes import write_routes
from api.services import Services
from api.tokens.verifier import TokenVerifier
from domain.registry import KINDS


class _Routes(Router):
    """All routes, registered at once: one by one, each would have all before it checked again."""

    def __deepcopy__(self, _: Any) -> Self:
        """Itself, for it is registered once; a copy of every handler is slow to make."""
        return self


def _with_options(handlers: list[HTTPRouteHandler]) -> list[HTTPRouteHandler]:
    """The handlers, one of each path standing for OPTIONS too, which the access middleware answers.

    Litestar would make another handler for it, which takes the time of any other to be registered.
    """
    paths: set[str] = set()
    for handler in handlers:
        if not handler.paths <= paths:
            handler.http_methods.add("OPTIONS")
            paths |= handler.paths
    return handlers


class Application(Litestar):
    """Litestar's application, inside the edge, which sees requests that no route takes too."""

    edge: Edge

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request, or run the life of the application."""
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
        elif (answered := self.edge.answer(scope)) is not None:
            await answered[0].under(answered[1])(scope, receive, send)
        else:
            # A direct read may have made the answer, which is to be compressed.
            await self.edge(scope, receive, send, scope.pop("made", None) or super().__call__)


def create_app(
    services: Services, verifier: TokenVerifier, writer: LogWriter, metrics: Metrics
) -> Application:
    """The application over opened stores; it opens and closes nothing itself."""
    settings = services.settings
    rate_limit = RateLimit(settings.rate_limit, settings.rate_burst)
    guard = Guard(verifier, open_policies(settings.policies), rate_limit)
    entities = [
        handler
        for kind in KINDS.values()
        for handler in (*read_routes(kind, services), *write_routes(kind, services))
    ]
    searches = search_routes(services)
    handlers = [
        *entities,
        *searches,
        *audit_routes(services),
        *connection_test_routes(),
        *system_routes(services, metrics, verifier),
        *docs_routes(),
    ]
    app = Application(
        route_handlers=[_Routes("/", route_handlers=_with_options(handlers))],
        middleware=[AccessMiddleware(guard)],
        lifespan=[verifier.refreshing],
        exception_handlers={Exception: render},
        openapi_config=None,  # or Litestar would serve pages of its own; see api.openapi
        logging_config=None,
    )
    reads = DirectReads([*entities, *searches], guard, services.answers)
    app.edge = Edge(metrics, AccessLog(writer, wanted=settings.access_log), reads.answer)
    return app
