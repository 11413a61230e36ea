"""Makes tokens that are signed with a shared secret."""

import time
from typing import Any
from uuid import uuid4

import jwt

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
    now = time.time()
    return sign(issuer, subject, roles, token_id=str(uuid4()), issued=now, expires=now + lifetime)


def mint_long_lived(
    issuer: Issuer, safe: Safe, subject: str, roles: tuple[str, ...], lifetime: int
) -> tuple[str, str]:
    """A token as of `mint`, entered in the register of a safe, and its id.

    Raises InvalidInput when the register cannot be read or is full, and the errors of the safe.
    """
    now = time.time()
    entry = LongLived(
        id=str(uuid4()),
        subject=subject,
        roles=roles,
        issued=now,
        expires=now + lifetime,
        key=key_id(issuer.secret or ""),
    )
    change_register(safe, now, lambda register: joined(register, Register(long_lived=(entry,))))
    signed = sign(
        issuer, subject, roles, token_id=entry.id, issued=entry.issued, expires=entry.expires
    )
    return signed, entry.id


def sign(
    issuer: Issuer,
    subject: str,
    roles: tuple[str, ...],
    *,
    token_id: str,
    issued: float,
    expires: float,
) -> str:
    """A token of an issuer with a secret; times are in seconds since 1970.

    Times keep their fractions, so that a token which is issued after a revocation is told from one
    that was issued before it in the same second.
    """
    claims: dict[str, Any] = {"sub": subject, "jti": token_id, "iat": issued, "exp": expires}
    if issuer.name is not None:
        claims["iss"] = issuer.name
    if issuer.audiences:
        claims["aud"] = sorted(issuer.audiences)
    place_claim(claims, issuer.name_claim, subject)
    spaced = issuer.roles_claim == SPACED
    place_claim(claims, issuer.roles_claim, " ".join(roles) if spaced else list(roles))
    return jwt.encode(claims, issuer.secret or "", algorithm=SYMMETRIC[0])
