"""Links that sign in once: a file for each in the data directory, taken away by its first use.

The file is named by a digest of the secret in the link, so that who reads the directory's names
learns no link. Whichever process removes it has used it: no other can.
"""

import os
import secrets
import time
from hashlib import sha256
from pathlib import Path

import msgspec

from api.settings import Settings
from api.tokens.minting import find_minter, mint

GOOD_SECONDS = 15 * 60
_FOLDER = "sign-in"
MOST_LIFETIME = 86_400


class _Link(msgspec.Struct):
    subject: str
    roles: tuple[str, ...]
    expires: float


def make_link(settings: Settings, address: str, subject: str, roles: tuple[str, ...]) -> str:
    """A link to a catalog at an address that signs a caller in once, in the next 15 minutes.

    Raises InvalidInput where the catalog signs no tokens itself, and OSError.
    """
    find_minter(settings)
    folder = settings.directory / _FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _remove_old(folder)
    secret = secrets.token_urlsafe(32)
    link = _Link(subject, roles, time.time() + GOOD_SECONDS)
    descriptor = os.open(_file(folder, secret), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(msgspec.json.encode(link))
    return f"{address}/sign-in?once={secret}"


def use_link(settings: Settings, secret: str) -> str | None:
    """A token for who has the secret of a link; None for one that was used, is old or made up.

    Raises InvalidInput where the catalog has no secret to sign with any more.
    """
    file = _file(settings.directory / _FOLDER, secret)
    try:
        link = msgspec.json.decode(file.read_bytes(), type=_Link)
        file.unlink()
    except FileNotFoundError:
        return None
    if link.expires <= time.time():
        return None
    lifetime = min(MOST_LIFETIME, settings.jwt_max_lifetime)
    return mint(find_minter(settings), link.subject, link.roles, lifetime)


def _file(folder: Path, secret: str) -> Path:
    return folder / sha256(secret.encode()).hexdigest()


def _remove_old(folder: Path) -> None:
    for file in folder.iterdir():
        if file.stat().st_mtime < time.time() - GOOD_SECONDS:
            file.unlink(missing_ok=True)
