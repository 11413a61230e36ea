"""The composition root: settings in, a Litestar application out."""

from litestar import Litestar

from api.auth import AccessMiddleware, TokenVerifier
from api.docs import docs_routes
from api.errors import render
from api.metrics import Metrics, MetricsMiddleware
from api.routes.audit import audit_routes
from api.routes.reads import read_routes
from api.routes.search import search_routes
from api.routes.system import system_routes
from api.routes.writes import write_routes
from api.services import Services
from domain.registry import KINDS


def create_app(services: Services, secret: str) -> Litestar:
    """The application over opened stores; it opens and closes nothing itself."""
    metrics = Metrics()
    entities = [
        handler
        for kind in KINDS.values()
        for handler in (*read_routes(kind, services), *write_routes(kind, services))
    ]
    return Litestar(
        # Whole paths, no Router: it would copy every handler, a fifth of the time to start.
        route_handlers=[
            *entities,
            *search_routes(services),
            *audit_routes(services),
            *system_routes(services, metrics),
            *docs_routes(),
        ],
        middleware=[MetricsMiddleware(metrics), AccessMiddleware(TokenVerifier(secret))],
        exception_handlers={Exception: render},
        openapi_config=None,  # with one, Litestar serves pages of its own; see api.openapi
        logging_config=None,
    )
