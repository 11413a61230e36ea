"""Bearer tokens: signing, verifying, and the middleware that guards every route."""

import os
import secrets
import time
from collections import OrderedDict
from hashlib import blake2b
from pathlib import Path
from typing import Any

import jwt
import msgspec
from litestar.middleware import ASGIMiddleware
from litestar.types import ASGIApp, Receive, Scope, Send

from api.errors import Forbidden, Unauthorized
from api.permissions import PUBLIC, Permission, Principal
from api.settings import MIN_SECRET_BYTES
from domain.errors import InvalidInput
from domain.names import MAX_NAME_LENGTH

ALGORITHM = "HS256"
MAX_TOKEN_BYTES = 8_192
LEEWAY_SECONDS = 30
_REMEMBERED = 10_000
_SECRET_FILE = "secret"


def read_secret(directory: Path, configured: str | None) -> str:
    """The configured secret, or the one in the data directory, made at first use (mode 0600)."""
    if configured is not None:
        return configured
    path = directory / _SECRET_FILE
    if not path.exists():
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = directory / f"{_SECRET_FILE}.{os.getpid()}"
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_hex(32))
            file.flush()
            os.fsync(file.fileno())
        try:
            # A link fails where a rename would overwrite what another process just made.
            os.link(fresh, path)
        except FileExistsError:
            pass
        finally:
            fresh.unlink()
        _sync(directory)
    secret = path.read_text().strip()
    if len(secret.encode()) < MIN_SECRET_BYTES:
        raise InvalidInput(f"{path} must hold at least {MIN_SECRET_BYTES} bytes; remove or mend it")
    return secret


def _sync(directory: Path) -> None:
    """Make a new file's name survive power loss."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def mint(secret: str, subject: str, roles: tuple[str, ...], lifetime: int) -> str:
    """A token for `subject` that is good for `lifetime` seconds from now."""
    now = int(time.time())
    claims = {"sub": subject, "roles": list(roles), "iat": now, "exp": now + lifetime}
    return jwt.encode(claims, secret, algorithm=ALGORITHM)


class _Claims(msgspec.Struct):
    sub: str
    exp: float
    roles: list[str] = []


class TokenVerifier:
    """Checks tokens; a token that was good is remembered by its digest until it expires."""

    def __init__(self, secret: str) -> None:
        self._secret = secret
        self._remembered: OrderedDict[bytes, tuple[Principal, float]] = OrderedDict()

    def verify(self, header: bytes) -> Principal:
        """The caller of an Authorization header; raises Unauthorized without saying why."""
        scheme, _, token = header.partition(b" ")
        if scheme.lower() != b"bearer" or not token or len(token) > MAX_TOKEN_BYTES:
            raise Unauthorized
        digest = blake2b(token, digest_size=32).digest()
        known = self._remembered.get(digest)
        if known is None:
            known = self._remembered[digest] = self._decode(token)
            if len(self._remembered) > _REMEMBERED:
                self._remembered.popitem(last=False)
        principal, expires = known
        if time.time() >= expires + LEEWAY_SECONDS:
            self._remembered.pop(digest, None)
            raise Unauthorized
        return principal

    def _decode(self, token: bytes) -> tuple[Principal, float]:
        try:
            payload: dict[str, Any] = jwt.decode(
                token,
                self._secret,
                algorithms=[ALGORITHM],
                leeway=LEEWAY_SECONDS,
                options={"require": ["exp", "sub"]},
            )
            claims = msgspec.convert(payload, type=_Claims)
        except (jwt.PyJWTError, msgspec.ValidationError, ValueError):
            raise Unauthorized from None
        if not 1 <= len(claims.sub) <= MAX_NAME_LENGTH:
            raise Unauthorized
        return Principal(claims.sub, tuple(claims.roles)), claims.exp


class AccessMiddleware(ASGIMiddleware):
    """Lets a request through to its route only with the permission that the route declares."""

    def __init__(self, verifier: TokenVerifier) -> None:
        self._verifier = verifier

    async def handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:
        """Raises Unauthorized or Forbidden before anything of the request is parsed."""
        handler = scope["route_handler"]
        # What Litestar answers to OPTIONS by itself says no more than which methods there are.
        automatic = getattr(handler, "http_methods", None) == {"OPTIONS"}
        needed = PUBLIC if automatic else handler.opt.get("permission")
        if needed != PUBLIC:
            principal = self._authenticate(scope)
            if not isinstance(needed, Permission) or not principal.may(needed):
                raise Forbidden(f"{principal.name!r} has no permission to {needed}")
            scope["user"] = principal
        await next_app(scope, receive, send)

    def _authenticate(self, scope: Scope) -> Principal:
        headers = [value for name, value in scope["headers"] if name == b"authorization"]
        if len(headers) != 1:
            raise Unauthorized
        return self._verifier.verify(headers[0])
