"""Signing in and out: at the identity provider, with a token, or by a link that does so once."""

from anyio import CapacityLimiter, to_thread
from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse

from api.callers.permissions import PUBLIC, SIGNED_IN
from api.callers.sign_in.provider import RETURN, Provider
from api.callers.sign_in.sessions import Sessions
from api.callers.tokens.minting import use_link
from api.callers.tokens.verifier import TokenVerifier
from api.declaring.declared_query import Parameters, query
from api.errors import Overloaded, Unauthorized
from api.pages.frame.addresses import is_local
from api.pages.frame.rendering import AnyRequest, Renderer, html, redirect
from api.pages.frame.routing import form, page
from api.settings import Settings
from domain.errors import NotFound

SIGN_IN = "/sign-in"
_USING_LINKS, _WAITING_LINKS = 2, 20
"""Threads that use links, and how many requests may wait for them."""
_AGAIN = (
    "This link was used already, or its 15 minutes are over."
    " `catalog sign-in-link` prints a new one."
)


_TO: Parameters = {"to": query(str, "Page to go to once signed in.")}
_ONCE: Parameters = {
    "once": query(str, "Secret of a link that signs in once."),
    **_TO,
}
# Litestar has a meaning of its own for an argument `state`.
_RETURNED: Parameters = {
    f"said_{name}": query(str, "What the provider says.", name=name)
    for name in ("code", "state", "iss", "error", "error_description")
}


def sign_in_routes(
    settings: Settings,
    sessions: Sessions,
    verifier: TokenVerifier,
    provider: Provider,
    renderer: Renderer,
) -> list[HTTPRouteHandler]:
    """The pages to sign in at, and where their forms are sent."""
    using_links = CapacityLimiter(_USING_LINKS)

    async def show(request: AnyRequest, once: str | None, to: str | None) -> ASGIResponse:
        # Who asks for the head alone, as scanners of links do, has not used the link.
        if once is None or request.method == "HEAD":
            return asked(request, to, None, 200)
        # Anybody may ask, and a database may take its time: others do not wait for these threads.
        if using_links.statistics().tasks_waiting >= _WAITING_LINKS:
            raise Overloaded("too many use links that sign in once: try again", 1)
        token = await to_thread.run_sync(
            use_link, settings, verifier.safe.safe, once, limiter=using_links
        )
        if token is None:
            return asked(request, to, _AGAIN, 403)
        # The secret that signs it may have been replaced since this process looked.
        await verifier.follow()
        return admitted(request, token, to)

    async def take(request: AnyRequest, fields: dict[str, str]) -> ASGIResponse:
        token, to = fields.get("token", "").strip(), fields.get("to")
        try:
            await verifier.verify(b"Bearer " + token.encode())
        except Unauthorized as error:
            request.scope["state"]["refusal"] = error.refusal.value
            said = error.refusal.description
            return asked(request, to, f"{said[0].upper()}{said[1:]}.", 401)
        return admitted(request, token, to)

    async def leave_for_provider(request: AnyRequest, to: str | None) -> ASGIResponse:
        must_be_set()
        address, cookie = await provider.start(request.scope, local(to))
        return redirect(address, {"Set-Cookie": cookie})

    async def come_back(request: AnyRequest, **given: str | None) -> ASGIResponse:
        must_be_set()
        said = {name.removeprefix("said_"): value for name, value in given.items()}
        started = provider.started(request.scope, said["state"] or "", said["iss"])
        if said["error"] is not None or said["code"] is None:
            problem = said["error_description"] or said["error"] or "it gave no code"
            return asked(request, started.to, f"The provider refused: {problem[:200]}", 403)
        try:
            tokens = await provider.exchange(request.scope, started, said["code"])
            token = await provider.check(started, tokens)
        except Unauthorized as error:
            request.scope["state"]["refusal"] = error.refusal.value
            return asked(request, started.to, "The provider's token is not accepted here.", 401)
        return admitted(request, token, started.to)

    async def leave(request: AnyRequest, _: dict[str, str]) -> ASGIResponse:
        return redirect(SIGN_IN, {"Set-Cookie": sessions.ended(request.scope)})

    def asked(
        request: AnyRequest, to: str | None, problem: str | None, status: int
    ) -> ASGIResponse:
        body = renderer.page(request, "sign_in.html", to=local(to), problem=problem)
        return html(body, status=status)

    def admitted(request: AnyRequest, token: str, to: str | None) -> ASGIResponse:
        cookie = sessions.started(token, request.scope)
        return redirect(local(to), {"Set-Cookie": cookie})

    def must_be_set() -> None:
        if not provider.is_set:
            raise NotFound("no identity provider is named: see CATALOG_OIDC_ISSUER")

    return [
        page(SIGN_IN, PUBLIC, show, _ONCE),
        form(SIGN_IN, PUBLIC, take, sessions),
        page(f"{SIGN_IN}/provider", PUBLIC, leave_for_provider, _TO),
        page(RETURN, PUBLIC, come_back, _RETURNED),
        form("/sign-out", SIGNED_IN, leave, sessions),
    ]


def local(to: str | None) -> str:
    """The address to show after the sign-in: the requested one if local, else the first page."""
    return to if to is not None and is_local(to) else "/"
