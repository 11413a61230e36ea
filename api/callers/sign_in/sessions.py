"""Sessions: a cookie that holds the caller's token, sealed by a key in the safe of the catalog.

The token in it is verified on every request as one in an Authorization header is, so that roles,
expiry and revocation hold for pages as they do for the API. Nothing of a session is kept here.
"""

import secrets
import time
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b
from typing import Any
from urllib.parse import urlsplit

from api.callers.tokens.claims import read_token
from api.callers.tokens.following import FollowedSafe
from api.callers.tokens.safe import SESSION_KEY
from api.callers.tokens.secret import MOST_PREVIOUS
from api.callers.tokens.verifier import MAX_TOKEN_BYTES
from api.errors import Unauthorized
from api.paths.base_path import origin
from api.refusals import Refusal
from api.settings import Settings
from domain.errors import InvalidInput

Headers = Iterable[tuple[bytes, bytes]]

SESSION = "catalog_session"
"""The cookie of a session; see `Sessions.started`."""
_MOST_BYTES = 3_900
"""Most bytes of a cookie's value; browsers keep 4,096 with its name and attributes."""
_NONCE_BYTES = 12


class Sessions:
    """Seals values that browsers keep for the catalog, and opens them again."""

    def __init__(self, settings: Settings, safe: FollowedSafe) -> None:
        """Make the key where there is none; raises the errors of the safe."""
        self._settings = settings
        self._safe = safe
        safe.prepare(SESSION_KEY)

    def _keys(self) -> list[bytes]:
        """The key that seals, and those that it replaces, of 32 bytes each."""
        return [bytes.fromhex(key) for key in self._safe.secrets(SESSION_KEY)]

    def started(self, token: str, scope: Any) -> str:
        """The Set-Cookie header of a session with a verified token, which ends when the token does.

        Raises InvalidInput for a token that no cookie can hold.
        """
        _, claims, _ = read_token(token.encode())
        seconds = max(0, int(claims.exp - time.time()))
        return self.cookie(SESSION, self.seal(SESSION, token.encode()), seconds, scope)

    def ended(self, scope: Any) -> str:
        """The Set-Cookie header by which a browser forgets its session."""
        return self.cookie(SESSION, "", 0, scope)

    def cookie(self, name: str, value: str, seconds: int, scope: Any) -> str:
        """A Set-Cookie header that scripts cannot read and other sites cannot have sent along.

        Raises InvalidInput for a value that browsers would not keep.
        """
        if len(value) > _MOST_BYTES:
            raise InvalidInput(
                "the token is too large for a cookie: have the provider put fewer claims into it"
            )
        secure = "; Secure" if self.origin(scope).startswith("https:") else ""
        return f"{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}"

    def authorization(self, headers: Headers) -> bytes:
        """The Authorization header for the session of a request.

        Raises Unauthorized without a session, or for one that another key has sealed.
        """
        return b"Bearer " + self._opened(headers)[0]

    def form_token(self, headers: Headers) -> str:
        """The token in the forms of a session's pages, which other sites cannot know."""
        token, key = self._opened(headers)
        return blake2b(token, key=key, digest_size=16).hexdigest()

    def origin(self, scope: Any) -> str:
        """The scheme and host at which browsers see the catalog."""
        return origin(self._settings.public_url, scope)

    def is_own_host(self, origin: str, scope: Any) -> bool:
        """True if an Origin header names the host that the request was sent to."""
        try:
            return urlsplit(origin).netloc == urlsplit(self.origin(scope)).netloc
        except ValueError:
            return False

    def seal(self, purpose: str, value: bytes) -> str:
        """A text that only `open` can read, for the same purpose and with the same key."""
        nonce = secrets.token_bytes(_NONCE_BYTES)
        sealed = _cipher(self._keys()[0]).encrypt(nonce, zlib.compress(value), purpose.encode())
        return urlsafe_b64encode(nonce + sealed).decode().rstrip("=")

    def open(self, purpose: str, text: str | None) -> tuple[bytes, bytes] | None:
        """The text that was sealed for a purpose by a key that counts, and the key.

        None for anything else.
        """
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - start-up: as the cipher

        if not text or len(text) > _MOST_BYTES or not text.isascii():
            return None
        try:
            whole = urlsafe_b64decode(text + "=" * (-len(text) % 4))
        except ValueError:
            return None
        for key in self._keys():
            try:
                opened = _cipher(key).decrypt(
                    whole[:_NONCE_BYTES], whole[_NONCE_BYTES:], purpose.encode()
                )
            except (ValueError, InvalidTag):
                continue
            # Sealed here, so it is as small as what was sealed.
            return zlib.decompress(opened), key
        return None

    def _opened(self, headers: Headers) -> tuple[bytes, bytes]:
        """The token of a session, and the key that seals it, which is the same until it ends."""
        opened = self.open(SESSION, cookie_named(SESSION, headers))
        if opened is None or len(opened[0]) > MAX_TOKEN_BYTES:
            raise Unauthorized(Refusal.NO_TOKEN)
        return opened


@lru_cache(maxsize=1 + MOST_PREVIOUS)
def _cipher(key: bytes) -> Any:
    # Imported here for a quick start: only sign-in needs it.
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

    return AESGCM(key)


def cookie_named(name: str, headers: Headers) -> str | None:
    """The value of a cookie that a request has once; None without it, or with several."""
    start = f"{name}="
    values = [
        each.strip()[len(start) :]
        for header, value in headers
        if header == b"cookie"
        for each in value.decode("latin-1").split(";")
        if each.strip().startswith(start)
    ]
    return values[0] if len(values) == 1 else None
