"""A route handler of which Litestar learns the signature when it is first asked."""

from collections.abc import Callable
from typing import Any

from litestar import Litestar
from litestar.handlers import HTTPRouteHandler
from litestar.utils import is_async_callable


class LateHandler(HTTPRouteHandler):
    """Has the models of its parameters made by its first request rather than by the start.

    There are hundreds of handlers, and their models take as long to make as all else of a start.
    What Litestar finds wrong with a signature shows when the handler is asked or documented.
    """

    def on_registration(self, app: Litestar) -> None:
        """Learn what is needed of the function itself; the checks of its signature come later."""
        self.has_sync_callable = not is_async_callable(self.fn)
        # The OpenAPI plugin asks in an order in which Litestar would not find it.
        self.resolve_signature_namespace()
        self._app = app

    def create_kwargs_model(self, path_parameters: Any) -> Any:
        """The model of the parameters, which is made when something of it is first asked for."""

        def make() -> Any:
            super(LateHandler, self).on_registration(self._app)
            return super(LateHandler, self).create_kwargs_model(path_parameters)

        return _Late(make)


class _Late:
    """Stands for what a function makes, from the first look at it on."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._made: Any = None

    def __getattr__(self, name: str) -> Any:
        """An attribute of what is made; kept here, so that it is asked for but once."""
        if self._made is None:
            self._made = self._make()
        value = getattr(self._made, name)
        setattr(self, name, value)
        return value
