"""Makes tokens that are signed with a shared secret."""

import time
from typing import Any

import jwt

from api.settings import Settings
from api.tokens.claims import SPACED, place_claim
from api.tokens.issuers import Issuer, read_issuers
from api.tokens.keys import SYMMETRIC
from domain.errors import InvalidInput


def find_minter(settings: Settings) -> Issuer:
    """The first issuer with a secret; raises InvalidInput if there is none."""
    for issuer in read_issuers(settings):
        if issuer.secret is not None:
            issuer.loader()  # refuses a secret that is too short
            return issuer
    raise InvalidInput(
        "no issuer has a secret to sign with: tokens come from the identity provider"
    )


def mint(issuer: Issuer, subject: str, roles: tuple[str, ...], lifetime: int) -> str:
    """A token of an issuer with a secret, for `subject`, good for `lifetime` seconds from now."""
    now = int(time.time())
    claims: dict[str, Any] = {"sub": subject, "iat": now, "exp": now + lifetime}
    if issuer.name is not None:
        claims["iss"] = issuer.name
    if issuer.audiences:
        claims["aud"] = sorted(issuer.audiences)
    place_claim(claims, issuer.name_claim, subject)
    spaced = issuer.roles_claim == SPACED
    place_claim(claims, issuer.roles_claim, " ".join(roles) if spaced else list(roles))
    return jwt.encode(claims, issuer.secret or "", algorithm=SYMMETRIC[0])
