"""Links that sign in once: each is in the safe of the catalog, and taken away by its first use.

It is kept under a digest of the secret in the link, so that who reads the safe learns no link.
Whichever process takes it away has used it: no other can.
"""

import secrets
import time
from hashlib import sha256

import msgspec

from api.callers.tokens.minting import find_minter, mint
from api.callers.tokens.safe import Safe
from api.settings import Settings

GOOD_SECONDS = 15 * 60
MOST_LIFETIME = 86_400
_SECRET_BYTES = 32


class _Link(msgspec.Struct):
    subject: str
    roles: tuple[str, ...]
    expires: float


def make_link(
    settings: Settings, safe: Safe, address: str, subject: str, roles: tuple[str, ...]
) -> str:
    """A link that signs a caller in once, within 15 minutes, at the catalog's address.

    Raises InvalidInput where the catalog signs no tokens itself, and the errors of the safe.
    """
    find_minter(settings, safe)
    secret = secrets.token_urlsafe(_SECRET_BYTES)
    link = _Link(subject, roles, time.time() + GOOD_SECONDS)
    safe.put_link(_digest(secret), msgspec.json.encode(link), link.expires)
    return f"{address}/sign-in?once={secret}"


def use_link(settings: Settings, safe: Safe, secret: str) -> str | None:
    """A token for the secret of a link; None for a used, old or made-up one.

    Raises InvalidInput where the catalog has no secret to sign with any more, and the errors of the
    safe.
    """
    taken = safe.take_link(_digest(secret))
    if taken is None:
        return None
    link = msgspec.json.decode(taken, type=_Link)
    if link.expires <= time.time():
        return None
    lifetime = min(MOST_LIFETIME, settings.jwt_max_lifetime)
    return mint(find_minter(settings, safe), link.subject, link.roles, lifetime)


def _digest(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()
