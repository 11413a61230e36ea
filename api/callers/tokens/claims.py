"""Reads a token strictly, before its signature is checked; nothing in it is believed yet."""

import json
import sys
from binascii import a2b_base64
from collections.abc import Mapping
from typing import Any, NoReturn

import msgspec

from api.errors import Unauthorized
from api.refusals import Refusal
from domain.kinds.names import MAX_NAME_LENGTH

_URL_SAFE = bytes.maketrans(b"-_+/=", b"+/   ")
"""Translates base64url to base64; plain `+` and `/`, and padding, become what is refused."""
_REFUSED = frozenset({"crit", "b64", "zip", "enc"})
"""Header members that change how a token is read; a token that has one is refused."""
_TYPES = frozenset({"jwt", "at+jwt", "application/at+jwt"})
SPACED = "scope"
"""The claim whose value is words between spaces (RFC 9068); other claims of roles are lists."""


class TokenHeader(msgspec.Struct, frozen=True):
    """The members of a token's header that count; keys and addresses in the header do not."""

    alg: str
    kid: str | None = None
    typ: str = "JWT"


class Claims(msgspec.Struct, frozen=True):
    """The claims that decide whether a token is good; times are in seconds since 1970."""

    sub: str
    exp: float
    nbf: float | None = None
    iat: float | None = None
    iss: str | None = None
    aud: str | list[str] | None = None
    jti: str | None = None

    @property
    def audiences(self) -> list[str]:
        """The audiences that a token names."""
        if self.aud is None:
            return []
        return [self.aud] if isinstance(self.aud, str) else self.aud


def read_token(token: bytes) -> tuple[TokenHeader, Claims, dict[str, Any]]:
    """Header, checked claims and all claims of a JWS in compact form; raises Unauthorized."""
    try:
        head, payload, signature = token.split(b".")
        _decode(signature)
        fields = _read_object(head)
        if _REFUSED & fields.keys():
            raise Unauthorized(Refusal.MALFORMED)
        header = msgspec.convert(fields, TokenHeader)
        # A logout or event token of the same issuer is no access token (RFC 8725, 3.11).
        if header.typ.lower() not in _TYPES:
            raise Unauthorized(Refusal.TYPE)
        everything = _read_object(payload)
        claims = msgspec.convert(everything, Claims)
    except (ValueError, OverflowError, RecursionError, msgspec.ValidationError):
        raise Unauthorized(Refusal.MALFORMED) from None
    return header, claims, everything


def _read_object(segment: bytes) -> dict[str, Any]:
    """The JSON object in a segment; raises ValueError for any doubt about the object."""
    text = _decode(segment).decode()
    members = json.loads(text, object_pairs_hook=_without_duplicates, parse_constant=_refuse)
    if not isinstance(members, dict):
        raise ValueError("not an object")
    return members


def _decode(segment: bytes) -> bytes:
    padded = segment.translate(_URL_SAFE) + b"=" * (-len(segment) % 4)
    return a2b_base64(padded, strict_mode=True)


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a key is there twice")
    return members


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def find_claim(claims: Mapping[str, Any], path: str) -> Any:
    """The claim with the name `path`, else the one at this dotted path; None without either."""
    if path in claims:
        return claims[path]
    value: Any = claims
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def find_roles(claims: Mapping[str, Any], path: str) -> tuple[str, ...]:
    """The roles at a path; no roles if the claim is absent.

    Raises Unauthorized for anything but a list of printable texts.
    """
    roles = find_claim(claims, path)
    if roles is None:
        return ()
    if path == SPACED and isinstance(roles, str):
        roles = roles.split(" ")
    if not isinstance(roles, list):
        raise Unauthorized(Refusal.ROLES)
    if not all(isinstance(role, str) and role.isprintable() for role in roles):
        raise Unauthorized(Refusal.ROLES)  # roles stand in logs
    return tuple(map(sys.intern, roles))  # many callers are remembered, and share texts


def find_agent(claims: Mapping[str, Any]) -> str | None:
    """The client that acts for the caller: the actor in the token, else the client it is for."""
    actor = claims.get("act")
    named = (actor.get("sub") if isinstance(actor, dict) else None, claims.get("azp"))
    return next((each for each in named if is_name(each)), None)


def is_name(value: object) -> bool:
    """True if a value can name a caller, in events, logs and headers."""
    return isinstance(value, str) and 1 <= len(value) <= MAX_NAME_LENGTH and value.isprintable()


def place_claim(claims: dict[str, Any], path: str, value: Any) -> None:
    """Put a value where `find_claim` finds it."""
    *above, last = path.split(".")
    for name in above:
        claims = claims.setdefault(name, {})
    claims[last] = value
