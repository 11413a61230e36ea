"""The secrets that a catalog makes for itself: those that sign tokens, and those of sessions.

A document of its safe has one a line, the present one first. Those after it were replaced: they
still verify and open, each until a time that stands after it, in seconds since 1970, or until they
are dropped.
"""

import logging
import re
import secrets
from hashlib import blake2b
from pathlib import Path

from jwt import InvalidKeyError
from jwt.algorithms import HMACAlgorithm

from api.callers.tokens.safe import SECRET, Safe
from domain.errors import InvalidInput

DAY = 86_400
MOST_DAYS = 365
"""The most days that a token may be good for."""
KEPT_SECONDS = (MOST_DAYS + 1) * DAY
"""Seconds after which no token can be good any more that was issued before."""
MIN_SECRET_BYTES = 32
MOST_PREVIOUS = 8
"""Most former secrets that verify beside the present one."""

_SESSION_KEY = re.compile("[0-9a-f]{64}")

log = logging.getLogger("catalog.secret")


def make_secrets(safe: Safe, document: str) -> tuple[str, ...]:
    """The secrets in a document of a safe, the present one first; made at first use."""
    content = safe.make(document, secrets.token_hex(32).encode())
    return read_secrets(document, content, safe.name(document))


def read_secrets(document: str, content: bytes, origin: str) -> tuple[str, ...]:
    """The secrets in the content of a document, the present one first.

    Raises InvalidInput, naming `origin`, for content that is damaged or unfit for the document.
    """
    origin = f"{origin} (remove or mend it)"
    present, previous = _read(content, origin)
    all_secrets = (present, *(secret for secret, _ in previous))
    for secret in all_secrets:
        if document == SECRET:
            check_secret(secret, origin)
        elif not _SESSION_KEY.fullmatch(secret):
            raise InvalidInput(f"{origin} must have keys of 64 hexadecimal digits, one a line")
    return all_secrets


def check_secret(secret: str, origin: str) -> None:
    """Raise InvalidInput, naming `origin`, for a text that is too short, or no secret at all."""
    raw = secret.encode()
    if len(raw) < MIN_SECRET_BYTES:
        raise InvalidInput(
            f"{origin} must have at least {MIN_SECRET_BYTES} bytes (256 bits), got {len(raw)}"
        )
    try:
        HMACAlgorithm(HMACAlgorithm.SHA256).prepare_key(raw)
    except InvalidKeyError:
        raise InvalidInput(f"{origin} holds a public or private key, not a secret") from None


def rotate_secret(safe: Safe, document: str, now: float) -> str:
    """Replace the present secret of a document by a new one; returns the one that was replaced.

    The replaced secret is kept as long as a token that was made with it can be valid. Raises
    InvalidInput when too many are kept.
    """
    replaced = make_secrets(safe, document)[0]

    def change(content: bytes | None) -> bytes:
        nonlocal replaced
        replaced, previous = _read(content or b"", safe.name(document))
        kept = [(replaced, round(now) + KEPT_SECONDS)]
        kept += (each for each in previous if each[1] > now)
        if len(kept) > MOST_PREVIOUS:
            raise InvalidInput(
                f"{safe.name(document)} keeps {MOST_PREVIOUS} former keys: drop them first"
            )
        return _text(secrets.token_hex(32), kept)

    safe.change(document, change)
    return replaced


def drop_previous(safe: Safe, document: str) -> tuple[str, ...]:
    """Drop the secrets of a document that were replaced; returns them."""
    dropped: tuple[str, ...] = ()

    def change(content: bytes | None) -> bytes:
        nonlocal dropped
        present, previous = _read(content or b"", safe.name(document))
        dropped = tuple(secret for secret, _ in previous)
        return _text(present, [])

    if safe.read(document) is not None:
        safe.change(document, change)
    return dropped


def key_id(secret: str) -> str:
    """Eight characters that identify a secret, and disclose no more of it than a signature does."""
    return blake2b(secret.encode(), person=b"catalog key id", digest_size=4).hexdigest()


def _read(content: bytes, origin: str) -> tuple[str, list[tuple[str, int]]]:
    """The present secret, and those that were replaced with the times up to which they count."""
    try:
        present, *lines = content.decode().strip().splitlines() or [""]
        pairs = [line.rpartition(" ") for line in lines]
        return present, [(secret, int(until)) for secret, _, until in pairs]
    except ValueError:
        raise InvalidInput(
            f"{origin} must have a secret, and after it those that were replaced, each in a line of"
            " its own with the time up to which it counts"
        ) from None


def _text(present: str, previous: list[tuple[str, int]]) -> bytes:
    return "\n".join([present, *(f"{secret} {until}" for secret, until in previous)]).encode()


def warn_of_readers(directory: Path) -> None:
    """Log a warning when users other than the owner may read or change the catalog's own secret."""
    path = directory / SECRET
    mode = path.stat().st_mode & 0o777
    if mode & 0o077:
        log.warning(
            "others can read the secret: chmod 600",
            extra={"file": str(path), "mode": f"{mode:04o}"},
        )
