"""The API's documentation: a page, the OpenAPI document it shows, and the page's own files."""

from collections.abc import Mapping
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import msgspec
from anyio import CapacityLimiter, to_thread
from litestar import HttpMethod, Litestar, Request, route
from litestar.exceptions import NotFoundException
from litestar.handlers import HTTPRouteHandler
from litestar.params import PathParameter

from api.answers.responses import Finished
from api.callers.permissions import PUBLIC

_UTF8 = "; charset=utf-8"
_STATIC = Path(__file__).parents[1] / "static"
_SWAGGER = "swagger-ui/swagger-ui"
ASSETS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        place.rpartition("/")[2]: (place, f"text/{kind}{_UTF8}")
        for place, kind in (
            ("docs.js", "javascript"),
            (f"{_SWAGGER}-bundle.js", "javascript"),
            (f"{_SWAGGER}.css", "css"),
            (f"{_SWAGGER}-bundle.js.LICENSE.txt", "plain"),
            ("swagger-ui/LICENSE", "plain"),
            ("swagger-ui/NOTICE", "plain"),
        )
    }
)
"""Name below /docs -> (file below `static`, media type); nothing else is served."""

HEADERS: Mapping[str, str] = MappingProxyType(
    {
        "Content-Security-Policy": (
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
            " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        ),
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }
)
"""Headers of the page and its files, by which browsers load and send nothing elsewhere."""

_FRESH = {"Cache-Control": "no-cache"}
_FOREVER = {"Cache-Control": "public, max-age=31536000, immutable"}
_OPTIONS: dict[str, Any] = {
    "http_method": [HttpMethod.GET, HttpMethod.HEAD],
    "opt": {"permission": PUBLIC},
}


@lru_cache(1)
def encoded(app: Litestar) -> bytes:
    """The document of an application as JSON, which the first request for it waits for."""
    from api.openapi.document import document  # noqa: PLC0415 - start-up: only this page needs it

    return msgspec.json.encode(document(app))


def docs_routes() -> list[HTTPRouteHandler]:
    """The routes of the page, the document and the files, none of which needs a token."""
    building = CapacityLimiter(1)

    @route("/docs", sync_to_thread=True, **_OPTIONS)
    def show_page() -> Finished:
        return Finished(page(), media_type=f"text/html{_UTF8}", headers={**HEADERS, **_FRESH})

    @route("/docs/openapi.json", **_OPTIONS)
    async def show_document(request: Request[Any, Any, Any]) -> Finished:
        app: Any = request.app
        await app.register_rest()
        body = await to_thread.run_sync(encoded, app, limiter=building)
        return Finished(body, headers={**HEADERS, **_FRESH})

    @route("/docs/{asset:str}", sync_to_thread=True, **_OPTIONS)
    def show_asset(asset: Annotated[str, PathParameter()]) -> Finished:
        if asset not in ASSETS:
            raise NotFoundException
        kind = ASSETS[asset][1]
        return Finished(read_asset(asset), media_type=kind, headers={**HEADERS, **_FOREVER})

    return [show_page, show_document, show_asset]


@cache
def read_asset(name: str) -> bytes:
    """The content of the file that ASSETS has under a name."""
    return (_STATIC / ASSETS[name][0]).read_bytes()


@cache
def page() -> bytes:
    """The page; its links hold a digest of its files, so that browsers may keep files forever."""
    digest = sha256(b"".join(map(read_asset, ASSETS))).hexdigest()[:16]
    return (_STATIC / "docs.html").read_bytes().replace(b"{{digest}}", digest.encode())
