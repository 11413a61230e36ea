"""Makes tokens that are signed with a shared secret, and links that sign in once.

A link is in the safe of the catalog, under a digest of its secret, so that who reads the safe
learns no link. Whichever process takes it away has used it: no other can.
"""

import secrets
import time
from hashlib import sha256
from typing import Any
from uuid import uuid4

import jwt
import msgspec

from api.callers.tokens.claims import SPACED, place_claim
from api.callers.tokens.issuers import Issuer, read_issuers
from api.callers.tokens.keys import SYMMETRIC
from api.callers.tokens.register import LongLived, Register, change_register, joined
from api.callers.tokens.safe import Safe
from api.callers.tokens.secret import key_id
from api.settings import Settings
from domain.errors import InvalidInput


def find_minter(settings: Settings, safe: Safe | None = None) -> Issuer:
    """The first issuer with a secret, as `read_issuers` finds it; raises InvalidInput if none."""
    for issuer in read_issuers(settings, safe):
        if issuer.secret is not None:
            issuer.loader()  # refuses a secret that is too short
            return issuer
    raise InvalidInput(
        "no issuer has a secret to sign with: tokens come from the identity provider"
    )


def mint(issuer: Issuer, subject: str, roles: tuple[str, ...], lifetime: int) -> str:
    """A token of an issuer with a secret, for `subject`, good for `lifetime` seconds from now."""
    return sign(issuer, _entry(issuer, subject, roles, lifetime))


def mint_long_lived(
    issuer: Issuer, safe: Safe, subject: str, roles: tuple[str, ...], lifetime: int
) -> tuple[str, LongLived]:
    """A token as of `mint`, and its entry in the register of a safe, which this makes.

    Raises InvalidInput when the register cannot be read or is full, and the errors of the safe.
    """
    entry = _entry(issuer, subject, roles, lifetime)
    new = Register(long_lived=(entry,))
    change_register(safe, entry.issued, lambda register: joined(register, new))
    return sign(issuer, entry), entry


def _entry(issuer: Issuer, subject: str, roles: tuple[str, ...], lifetime: int) -> LongLived:
    now, key = time.time(), key_id(issuer.secret or "")
    return LongLived(
        id=str(uuid4()), subject=subject, roles=roles, issued=now, expires=now + lifetime, key=key
    )


def sign(issuer: Issuer, token: LongLived) -> str:
    """A token of an issuer with a secret, whether it lives long or not.

    Times keep their fractions, so that a token which is issued after a revocation is told from one
    that was issued before it in the same second.
    """
    claims: dict[str, Any] = {
        "sub": token.subject,
        "jti": token.id,
        "iat": token.issued,
        "exp": token.expires,
    }
    if issuer.name is not None:
        claims["iss"] = issuer.name
    if issuer.audiences:
        claims["aud"] = sorted(issuer.audiences)
    place_claim(claims, issuer.name_claim, token.subject)
    spaced = issuer.roles_claim == SPACED
    place_claim(claims, issuer.roles_claim, " ".join(token.roles) if spaced else list(token.roles))
    return jwt.encode(claims, issuer.secret or "", algorithm=SYMMETRIC[0])


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
