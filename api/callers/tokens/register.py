"""The register of tokens: long-lived ones that were issued here, and whose tokens are revoked.

The register is a document in the safe of the catalog. `catalog token` and `catalog revoke` write
it, and each process that serves follows it. A token that lives longer than all others may is good
only while it stands there; so a register that is lost ends those tokens, and never revives one.
"""

import time
from collections.abc import Callable, Iterable

import msgspec

from api.callers.tokens.safe import REGISTER, Safe
from api.callers.tokens.secret import DAY, KEPT_SECONDS, MOST_DAYS
from domain.errors import InvalidInput
from domain.patches.json_input import MISFITS

_UNITS = {"d": DAY, "h": 3_600, "m": 60, "s": 1}
MOST_ID_CHARACTERS = 1_024
"""Characters of the id of a token, which other issuers may have made."""
MOST_ENTRIES = 10_000
"""Most tokens, and most revocations, that the register holds."""


class LongLived(msgspec.Struct, frozen=True, kw_only=True):
    """A token that may live longer than CATALOG_JWT_MAX_LIFETIME; times in seconds since 1970."""

    id: str
    """The `jti` of the token."""
    subject: str
    roles: tuple[str, ...]
    issued: float
    expires: float
    key: str | None = None
    """The id of the secret that signs it; None in registers of before there were ids."""


class Register(msgspec.Struct, frozen=True, kw_only=True):
    """The content of the register; each process replaces it as a whole."""

    long_lived: tuple[LongLived, ...] = ()
    revoked: dict[str, float] = {}
    """`jti` of a revoked token -> when it was revoked."""
    subjects: dict[str, float] = {}
    """Name of a caller -> the time up to which the caller's tokens are revoked."""

    def expiry(self, token_id: str | None) -> float | None:
        """The end of a long-lived token; None where no such token was issued here."""
        return next((each.expires for each in self.long_lived if each.id == token_id), None)

    def refuses(self, name: str, token_id: str | None, issued: float | None) -> bool:
        """True if a token is revoked, by its id or with all that its caller had at a time.

        A token that does not say when it was issued counts as issued before any revocation.
        """
        if token_id in self.revoked:
            return True
        before = self.subjects.get(name)
        return before is not None and (issued is None or issued <= before)


def read_register(safe: Safe) -> Register:
    """The register in a safe, empty where there is none; raises InvalidInput that names it."""
    return decode_register(safe.read(REGISTER), safe.name(REGISTER))


def decode_register(content: bytes | None, origin: str) -> Register:
    """The register in a document; raises InvalidInput, naming `origin`."""
    if content is None:
        return Register()
    try:
        return msgspec.json.decode(content, type=Register)
    except MISFITS as error:
        raise InvalidInput(f"{origin}: the register of tokens cannot be read: {error}") from None


def change_register(safe: Safe, now: float, change: Callable[[Register], Register]) -> Register:
    """Change the register of a safe; when this returns, the change survives power loss.

    Entries without any effect are dropped. Raises InvalidInput, and the errors of the safe.
    """
    origin = safe.name(REGISTER)

    def changed(content: bytes | None) -> bytes:
        register = _without_past(change(decode_register(content, origin)), now)
        for entries in (register.long_lived, register.revoked, register.subjects):
            if len(entries) > MOST_ENTRIES:
                raise InvalidInput(f"{origin} may hold {MOST_ENTRIES} tokens and revocations")
        return msgspec.json.format(msgspec.json.encode(register), indent=1)

    return decode_register(safe.change(REGISTER, changed), origin)


def joined(register: Register, other: Register) -> Register:
    """The union of two registers: a token that either has revoked is revoked."""
    known = {each.id for each in register.long_lived}
    subjects = {
        name: max(register.subjects.get(name, 0.0), other.subjects.get(name, 0.0))
        for name in register.subjects | other.subjects
    }
    return Register(
        long_lived=(
            *register.long_lived,
            *(each for each in other.long_lived if each.id not in known),
        ),
        revoked=other.revoked | register.revoked,
        subjects=subjects,
    )


def revoke_tokens(safe: Safe, ids: Iterable[str], subjects: Iterable[str]) -> set[str]:
    """Revoke tokens by their ids, and all present tokens of callers; returns the unknown ids.

    Raises InvalidInput, and the errors of the safe.
    """
    revoked, names = set(ids), set(subjects)

    def revoke(register: Register) -> Register:
        # The time of the change itself: a token issued while this waited is revoked too.
        now = time.time()
        new = Register(revoked=dict.fromkeys(revoked, now), subjects=dict.fromkeys(names, now))
        return joined(register, new)

    changed = change_register(safe, time.time(), revoke)
    return revoked - {each.id for each in changed.long_lived}


def parse_lifetime(text: str) -> int:
    """Seconds of a lifetime such as `90d`, `12h`, `30m` or `45s`.

    Raises InvalidInput for anything else, and for more than MOST_DAYS.
    """
    number, unit = text[:-1], text[-1:]
    seconds = int(number) * _UNITS[unit] if number.isdecimal() and unit in _UNITS else 0
    if not 1 <= seconds <= MOST_DAYS * DAY:
        raise InvalidInput(
            f"--expires must be a number with d, h, m or s, of {MOST_DAYS}d at most,"
            f" got {text[:80]!r}"
        )
    return seconds


def _without_past(register: Register, now: float) -> Register:
    # A day more than needed, for tokens are held to their times with some leeway.
    lasting = tuple(each for each in register.long_lived if each.expires > now - DAY)
    ids = {each.id for each in lasting}
    return Register(
        long_lived=lasting,
        revoked={
            token_id: at
            for token_id, at in register.revoked.items()
            if token_id in ids or at > now - KEPT_SECONDS
        },
        subjects={name: at for name, at in register.subjects.items() if at > now - KEPT_SECONDS},
    )
