"""All pages together: their routes, their sessions, and how they say what went wrong."""

from typing import Any

from litestar import Request, Response
from litestar.exceptions import NotFoundException
from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse

from api.answers.responses import Finished
from api.callers.permissions import PUBLIC
from api.callers.policies import Policies
from api.callers.sign_in.provider import Provider
from api.callers.sign_in.sessions import Sessions
from api.callers.tokens.verifier import TokenVerifier
from api.errors import progress_of, render
from api.pages.entities.browse import browse_pages
from api.pages.entities.edit import edit_pages
from api.pages.entities.entity import entity_pages
from api.pages.entities.steps import step_pages
from api.pages.frame.addresses import ASSETS, asset_address, read_asset
from api.pages.frame.rendering import HEADERS, AnyRequest, Renderer
from api.pages.frame.routing import page, wants_page
from api.pages.history.activity import activity_pages
from api.pages.history.audit import audit_pages
from api.pages.history.history import history_pages
from api.pages.operation.operation import operation_pages
from api.pages.search.search import search_pages
from api.pages.sign_in import sign_in_routes
from api.services import Services
from api.telemetry.metrics import Metrics
from api.use_cases.searcher import Searcher

_FOREVER = {"Cache-Control": "public, max-age=31536000, immutable"}


class Site:
    """The pages of one application."""

    def __init__(
        self,
        services: Services,
        searcher: Searcher,
        verifier: TokenVerifier,
        policies: Policies,
        metrics: Metrics,
    ) -> None:
        """Raise InvalidInput for settings of the pages that do not go together."""
        self.sessions = Sessions(services.settings, verifier.safe)
        provider = Provider(services.settings, self.sessions, verifier)
        self._renderer = Renderer(self.sessions, has_provider=provider.is_set)
        self.routes: list[HTTPRouteHandler] = [
            *browse_pages(services, self._renderer),
            *search_pages(services, searcher, self._renderer),
            *entity_pages(services, self._renderer),
            *history_pages(services, self._renderer),
            *audit_pages(services, self._renderer),
            *activity_pages(services, self._renderer),
            *operation_pages(services, policies, metrics, self.sessions, self._renderer),
            *edit_pages(services, searcher, self.sessions, self._renderer),
            *step_pages(services, self.sessions, self._renderer),
            *sign_in_routes(services.settings, self.sessions, verifier, provider, self._renderer),
            page("/static/{digest:str}/{name:str}", PUBLIC, _show_asset),
        ]

    def answer_error(self, request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
        """The answer to any exception: a page for a person, JSON for a program."""
        answer = render(request, error)
        if not wants_page(request.scope):
            return answer
        return self._renderer.error(request, answer, goes_on=progress_of(error) is not None)


async def _show_asset(request: AnyRequest) -> ASGIResponse:
    name = request.path_params["name"]
    # Another digest is that of another version: it may not be kept as this one.
    if name not in ASSETS or asset_address(name) != request.scope["path"]:
        raise NotFoundException
    return Finished(read_asset(name), media_type=ASSETS[name], headers={**HEADERS, **_FOREVER})
