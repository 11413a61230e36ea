"""The register of tokens: long-lived ones that were issued here, and whose tokens are revoked.

The register is a file of the data directory. `catalog token` and `catalog revoke` write it, and
each process that serves follows it. A token that lives longer than all others may is good only
while it stands there; so a register that is lost ends those tokens, and never revives one.
"""

import fcntl
import json
import logging
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from api.file_stamp import Stamp, file_stamp
from api.tokens.secret import sync_names
from domain.errors import InvalidInput

FILE = "tokens.json"
_LOCK = "tokens.lock"
DAY = 86_400
MOST_DAYS = 365
"""The most days that a long-lived token may be good for."""
_KEPT = (MOST_DAYS + 1) * DAY
"""Seconds after which no token can be good any more that was issued before a revocation."""
_UNITS = {"d": DAY, "h": 3_600, "m": 60, "s": 1}
MOST_ID_CHARACTERS = 1_024
"""Characters of the id of a token, which other issuers may have made."""
MOST_ENTRIES = 10_000
"""How many tokens, and how many revocations, the register may hold."""

log = logging.getLogger("catalog.tokens")


class LongLived(msgspec.Struct, frozen=True, kw_only=True):
    """A token that may live longer than others; times are in seconds since 1970."""

    id: str
    """The `jti` of the token."""
    subject: str
    roles: tuple[str, ...]
    issued: float
    expires: float


class Register(msgspec.Struct, frozen=True, kw_only=True):
    """What the file holds; each process replaces it as a whole."""

    long_lived: tuple[LongLived, ...] = ()
    revoked: dict[str, float] = {}
    """`jti` of a revoked token -> when it was revoked."""
    subjects: dict[str, float] = {}
    """Name of a caller -> the time up to which the caller's tokens are revoked."""

    def expiry(self, token_id: str | None) -> float | None:
        """When a long-lived token ends; None where no such token was issued here."""
        return next((each.expires for each in self.long_lived if each.id == token_id), None)

    def refuses(self, name: str, token_id: str | None, issued: float | None) -> bool:
        """Whether a token is revoked, by its id or with all that its caller had at a time.

        A token that does not say when it was issued counts as issued before any revocation.
        """
        if token_id in self.revoked:
            return True
        before = self.subjects.get(name)
        return before is not None and (issued is None or issued <= before)


class FollowedRegister:
    """The register as a process knows it; `follow` has it look at the file again."""

    def __init__(self, path: Path) -> None:
        """Read the register; raises InvalidInput for a file that is none."""
        self._path = path
        self._stamp = file_stamp(path)
        self._failed: Stamp | None = self._stamp
        self.current = read_register(path)
        """The same object until the file changes."""

    def follow(self) -> None:
        """Take over the file if it has changed; one that cannot be read is tried again."""
        stamp = file_stamp(self._path)
        if stamp == self._stamp:
            return
        try:
            if stamp is None:
                raise InvalidInput(f"{self._path} is gone")
            self.current = read_register(self._path)
        except InvalidInput as error:
            if stamp != self._failed:
                log.error("register of tokens not followed", extra={"reason": error.message})
                self._failed = stamp
        else:
            log.warning("register of tokens changed", extra={"file": str(self._path)})
            self._stamp = self._failed = stamp


def read_register(path: Path) -> Register:
    """The register in a file, an empty one where there is none; raises InvalidInput naming it."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Register)
    except FileNotFoundError:
        return Register()
    except (OSError, msgspec.DecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InvalidInput(f"{path}: the register of tokens cannot be read: {reason}") from None


def change_register(
    directory: Path, now: float, change: Callable[[Register], Register]
) -> Register:
    """Change the register of a data directory, and have it on disk when this returns.

    What can have no effect any more is dropped. Raises InvalidInput, and OSError.
    """
    path = directory / FILE
    with (directory / _LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        changed = _without_past(change(read_register(path)), now)
        for entries in (changed.long_lived, changed.revoked, changed.subjects):
            if len(entries) > MOST_ENTRIES:
                raise InvalidInput(f"{path} may hold {MOST_ENTRIES} tokens and revocations")
        fresh = path.with_suffix(".new")
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            json.dump(msgspec.to_builtins(changed), file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
        sync_names(directory)
    return changed


def revoke_tokens(directory: Path, ids: Iterable[str], subjects: Iterable[str]) -> set[str]:
    """Revoke tokens by their ids, and all that callers have now; returns the ids not known here.

    Raises InvalidInput, and OSError.
    """
    now = time.time()
    revoked, names = dict.fromkeys(ids, now), dict.fromkeys(subjects, now)
    changed = change_register(
        directory,
        now,
        lambda register: Register(
            long_lived=register.long_lived,
            revoked=register.revoked | revoked,
            subjects=register.subjects | names,
        ),
    )
    return revoked.keys() - {each.id for each in changed.long_lived}


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
            if token_id in ids or at > now - _KEPT
        },
        subjects={name: at for name, at in register.subjects.items() if at > now - _KEPT},
    )
