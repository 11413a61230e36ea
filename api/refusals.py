"""Reasons of refused tokens: the log gets each reason, callers get one that discloses nothing.

The answer says what a caller could read from its own token with a clock in hand: that the token
has expired, is not valid yet, or lives too long. The times are looked at first, without regard to
issuer, key and signature, so that a stolen, a forged and a made-up token with the same times are
answered alike: nobody learns from the answer whether a token was ever good, which issuers,
audiences and algorithms are trusted, or which keys exist. All other reasons share one answer.
"""

from enum import StrEnum


class Refusal(StrEnum):
    """Reason for refusing a token, as the log has it; it holds nothing of the token."""

    NO_TOKEN = "no bearer token"
    SEVERAL = "more than one Authorization header"
    MALFORMED = "no token that can be read"
    TYPE = "token of another type"
    EXPIRED = "token has expired"
    NOT_YET = "token is not valid yet"
    LIFETIME = "token lives longer than allowed"
    ISSUER = "unknown issuer"
    ALGORITHM = "algorithm not allowed for the issuer"
    AUDIENCE = "token is for another audience"
    KEY = "unknown key"
    SIGNATURE = "signature does not fit"
    NAME = "no name in the name claim"
    ROLES = "no list of texts in the roles claim"
    REVOKED = "token was revoked"

    @property
    def challenge(self) -> str:
        """The value of `WWW-Authenticate` (RFC 6750, 3).

        A request without a token gets no error code: nothing that was sent was wrong.
        """
        if self in (Refusal.NO_TOKEN, Refusal.SEVERAL):
            return _SCHEME
        return f'{_SCHEME}, error="invalid_token", error_description="{self.description}"'

    @property
    def description(self) -> str:
        """The description for the caller, which discloses nothing about trust."""
        return f"the {self}" if self in _SHOWN else "the token is not accepted here"


class Denial(StrEnum):
    """Reason for refusing a known caller, as log and metrics have it."""

    PERMISSION = "no permission"
    WITHHELD = "withheld field"
    RATE = "too many requests a second"
    UNDER_WAY = "too much work under way"
    UNREAD = "too much unread"
    OTHER = "other"


_SCHEME = 'Bearer realm="catalog"'
_SHOWN = frozenset({Refusal.EXPIRED, Refusal.NOT_YET, Refusal.LIFETIME})
