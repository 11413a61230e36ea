"""What Litestar does for each handler changes nothing of those that are mounted without it."""

from typing import Any

from litestar.handlers import HTTPRouteHandler

from tests.api.conftest import Client


def test_handlers_are_as_litestar_would_make_them(empty: Client) -> None:
    app: Any = empty.http.app
    app.mount()
    handlers = [handler for route in app.routes for handler in route.route_handlers]
    assert len(handlers) > 100
    for handler in handlers:
        mounted = (handler.has_sync_callable, dict(handler.opt), handler.resolve_middleware())
        HTTPRouteHandler.on_registration(handler, app)
        middleware = HTTPRouteHandler.resolve_middleware(handler)
        assert mounted == (handler.has_sync_callable, handler.opt, middleware)
        assert not handler.resolve_guards()
        assert not handler.resolve_dependencies()
