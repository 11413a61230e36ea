"""The product's server with one route more: an authenticated constant, as large as a page.

Its log is projected into the sorted read model only, as the figures are not about search.
"""

import sys
from pathlib import Path

from litestar.response.base import ASGIResponse

from api import app, server
from api.log_writer import LogWriter, open_log_writer
from api.permissions import Action, Permission
from api.responses import JSON
from api.routes.signatures import route
from api.services import Services
from api.settings import Settings, read_settings
from api.termination import Termination
from api.tokens.verifier import TokenVerifier, open_verifier
from benchmarks.running import CONSTANT
from domain.registry import KINDS
from projections.entities.list_pages import list_page
from projections.entities.port import ListRequest
from projections.feeding.daemon import Daemon
from projections.stores import Stores


def create_app(services: Services, verifier: TokenVerifier, writer: LogWriter) -> app.Application:
    """The application with the constant: the bytes of the first page of contracts."""
    kind = KINDS["dataContract"]
    with services.stores.entities.use() as entities:
        body = b"".join(list_page(entities, ListRequest(kind=kind, limit=10)))

    def constant() -> ASGIResponse:
        return ASGIResponse(body=body, media_type=JSON)

    made = app.create_app(services, verifier, writer)
    made.register(route("GET", CONSTANT, Permission(Action.LIST, kind.name), constant, {}))
    return made


def make_daemon(stores: Stores, settings: Settings) -> Daemon:
    """The projector of the sorted read model."""
    supervisors = [each for each in stores.supervisors if each.name == "entities"]
    return Daemon(supervisors, stores.directory)


def main(directory: Path) -> None:
    """Serve until stopped; the address is the last word of the first line of output."""
    server.create_app = create_app  # type: ignore[attr-defined]
    server.make_daemon = make_daemon
    settings = read_settings(port=0, data=str(directory))
    listener = server.bind(settings.host, settings.port)
    host, port = listener.getsockname()
    print(f"listening on http://{host}:{port}", flush=True)
    with open_log_writer() as writer:
        verifier, termination = open_verifier(settings), Termination()
        termination.install()
        server.serve_alone(settings, listener, verifier, writer, termination, lambda: None)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
