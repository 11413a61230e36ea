"""Signing in at an identity provider: authorization code with PKCE (RFC 6749, 7636, 9700)."""

import secrets
import time
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from hmac import compare_digest
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import msgspec
from anyio import CapacityLimiter, Lock, to_thread

from api.callers.sign_in.sessions import Sessions, cookie_named
from api.callers.tokens.claims import read_token
from api.callers.tokens.fetching import check_url, fetch
from api.callers.tokens.verifier import TokenVerifier
from api.errors import Unauthorized
from api.refusals import Refusal
from api.settings import Settings
from domain.errors import InvalidInput, about

RETURN = "/sign-in/return"
"""Path to which the provider sends people back; register it there behind the catalog's address."""
_COOKIE = "catalog_sign_in"
_SECONDS = 600
"""Longest time that a person may take at the provider."""
_EXCHANGES = 4
"""Threads that ask the provider for tokens; nothing else waits for them."""
REMEMBERED_SECONDS = 900.0
"""Time for which the provider's description is used before it is requested again."""
RETRY_SECONDS = 5.0
"""Time for which a failure answers everybody before the provider is asked again."""


class Addresses(msgspec.Struct):
    """The provider's addresses (OpenID Connect Discovery)."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str


class Discovery:
    """The addresses of one provider.

    Anybody may trigger a request for them, because people who sign in have no identity yet: so one
    request runs at a time, in a thread of its own, and all waiting callers share its result.
    """

    def __init__(self, issuer: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._issuer = issuer
        self._clock = clock
        self._known: Addresses | InvalidInput | None = None
        self._until = 0.0
        """Time until which the known addresses, or the known failure, are the answer."""
        self._asking = Lock()
        self._threads = CapacityLimiter(1)

    async def addresses(self) -> Addresses:
        """The addresses; raises InvalidInput when the provider does not give them."""
        async with self._asking:
            if self._known is None or self._clock() >= self._until:
                try:
                    self._known = await to_thread.run_sync(self._ask, limiter=self._threads)
                    self._until = self._clock() + REMEMBERED_SECONDS
                except InvalidInput as error:
                    self._known = error
                    self._until = self._clock() + RETRY_SECONDS
            known = self._known
        if isinstance(known, InvalidInput):
            raise type(known)(known.message)
        return known

    def _ask(self) -> Addresses:
        document = fetch(f"{self._issuer.rstrip('/')}/.well-known/openid-configuration")
        try:
            addresses = msgspec.json.decode(document, type=Addresses)
        except msgspec.DecodeError as error:
            raise InvalidInput(f"the provider's own description cannot be read: {error}") from None
        if addresses.issuer != self._issuer:
            raise InvalidInput(
                f"the provider calls itself {addresses.issuer!r}, not {self._issuer!r}"
            )
        for address in (addresses.authorization_endpoint, addresses.token_endpoint):
            check_url(address)
        return addresses


class _Tokens(msgspec.Struct):
    access_token: str
    id_token: str | None = None


class _Started(msgspec.Struct):
    """The sealed state that a browser keeps while its person is at the provider."""

    state: str
    verifier: str
    nonce: str
    to: str


def check_settings(settings: Settings) -> None:
    """Raise InvalidInput for settings with which nobody could sign in."""
    if (settings.oidc_issuer is None) != (settings.oidc_client_id is None):
        raise InvalidInput("CATALOG_OIDC_ISSUER and CATALOG_OIDC_CLIENT_ID need each other")
    if settings.oidc_issuer is not None:
        with about("CATALOG_OIDC_ISSUER"):
            check_url(settings.oidc_issuer)
    if "openid" not in settings.oidc_scope.split():
        raise InvalidInput(f"CATALOG_OIDC_SCOPE must hold openid, got {settings.oidc_scope!r}")
    if (file := settings.oidc_client_secret_file) is not None:
        try:
            Path(file).read_text()
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            said = f"CATALOG_OIDC_CLIENT_SECRET_FILE: {file} cannot be read: {why}"
            raise InvalidInput(said) from None


class Provider:
    """The identity provider of the settings."""

    def __init__(self, settings: Settings, sessions: Sessions, verifier: TokenVerifier) -> None:
        self._settings = settings
        self._sessions = sessions
        self._verifier = verifier
        self._discovery = Discovery(settings.oidc_issuer or "")
        self._exchanges = CapacityLimiter(_EXCHANGES)

    @property
    def is_set(self) -> bool:
        """True if there is a provider to sign in at."""
        return self._settings.oidc_issuer is not None

    async def start(self, scope: Any, to: str) -> tuple[str, str]:
        """The provider's address for a sign-in that ends at `to`, and the cookie to set.

        Raises InvalidInput when the provider's addresses are unknown.
        """
        address = (await self._discovery.addresses()).authorization_endpoint
        state, verifier, nonce = (secrets.token_urlsafe(32) for _ in range(3))
        started = _Started(state, verifier, nonce, to)
        digest = sha256(started.verifier.encode()).digest()
        query = urlencode(
            {
                "response_type": "code",
                "client_id": self._settings.oidc_client_id,
                "redirect_uri": self._sessions.origin(scope) + RETURN,
                "scope": self._settings.oidc_scope,
                "state": started.state,
                "nonce": started.nonce,
                "code_challenge": urlsafe_b64encode(digest).decode().rstrip("="),
                "code_challenge_method": "S256",
            }
        )
        sealed = self._sessions.seal(_COOKIE, msgspec.json.encode(started))
        separator = "&" if "?" in address else "?"
        return f"{address}{separator}{query}", self._sessions.cookie(
            _COOKIE, sealed, _SECONDS, scope
        )

    async def check(self, started: _Started, tokens: _Tokens) -> str:
        """The token of the answer that the catalog takes; raises Unauthorized where it takes none.

        The access token is for the catalog where the provider makes such tokens; the ID token is
        good as well, if the catalog's audience is the client. One that is there must be of this
        very sign-in (OpenID Connect Core, 3.1.3.7).
        """
        token, id_token = tokens.access_token, tokens.id_token
        try:
            await self._verifier.verify(b"Bearer " + token.encode())
        except Unauthorized:
            if id_token is None:
                raise
            await self._verifier.verify(b"Bearer " + id_token.encode())
            token = id_token
        if id_token is not None and read_token(id_token.encode())[2].get("nonce") != started.nonce:
            raise Unauthorized(Refusal.MALFORMED)
        return token

    def started(self, scope: Any, state: str, issuer: str | None) -> _Started:
        """The sign-in that this browser started; raises InvalidInput if it started another one.

        `state` and `issuer` are parameters of the provider's redirect.
        """
        opened = self._sessions.open(_COOKIE, cookie_named(_COOKIE, scope["headers"]))
        started = None if opened is None else msgspec.json.decode(opened[0], type=_Started)
        if started is None or not compare_digest(started.state.encode(), state.encode()):
            raise InvalidInput("this sign-in was not started in this browser: start it again")
        if issuer not in (None, self._settings.oidc_issuer):
            raise InvalidInput("another provider has answered: start the sign-in again")
        return started

    async def exchange(self, scope: Any, started: _Started, code: str) -> _Tokens:
        """The tokens for a code; raises InvalidInput when the provider gives none."""
        address = (await self._discovery.addresses()).token_endpoint
        work = partial(self._exchange, address, self._sessions.origin(scope), started, code)
        return await to_thread.run_sync(work, limiter=self._exchanges)

    def _exchange(self, address: str, origin: str, started: _Started, code: str) -> _Tokens:
        settings = self._settings
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": origin + RETURN,
            "code_verifier": started.verifier,
        }
        authorization = None
        client = settings.oidc_client_id or ""
        if settings.oidc_client_secret_file is None:
            form["client_id"] = client
        else:
            secret = Path(settings.oidc_client_secret_file).read_text().strip()
            both = f"{quote(client, safe='')}:{quote(secret, safe='')}"
            authorization = f"Basic {b64encode(both.encode()).decode()}"
        answer = fetch(address, urlencode(form), authorization)
        try:
            return msgspec.json.decode(answer, type=_Tokens)
        except msgspec.DecodeError:
            raise InvalidInput("the provider has answered without a token") from None
