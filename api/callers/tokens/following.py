"""Opens the safe of a catalog, and follows its documents in a process that serves.

A safe in a database takes over the documents of the directory.
"""

import logging
import time
from collections.abc import Callable, Sequence

from api.callers.tokens.register import (
    Register,
    change_register,
    decode_register,
    joined,
    read_register,
)
from api.callers.tokens.safe import (
    DOCUMENTS,
    REGISTER,
    SECRET,
    SESSION_KEY,
    DirectorySafe,
    Safe,
)
from api.callers.tokens.secret import make_secrets, read_secrets
from api.settings import Settings
from domain.errors import InvalidInput, StoreUnavailable
from domain.event_store.opening import address_in, needing_the_extra, open_event_log

AWAY_SECONDS = 60.0
"""Longest time for which the last known register counts while its database does not answer."""
_CALLED = {
    REGISTER: "register of tokens",
    SECRET: "secret of tokens",
    SESSION_KEY: "key of sessions",
}

log = logging.getLogger("catalog.tokens")


class FollowedSafe:
    """The documents of a safe in this process; `follow` reads changed ones, and blocks."""

    def __init__(self, safe: Safe, clock: Callable[[], float] = time.monotonic) -> None:
        """Read all documents; raises InvalidInput for a malformed one, and StoreUnavailable."""
        self.safe = safe
        self._clock = clock
        self._away_since: float | None = None
        self._stamps = dict(safe.stamps())
        self._failed = dict[str, object]()
        """Document -> the stamp with which it could not be read, which is logged once."""
        self._register = Register()
        self._secrets: dict[str, tuple[str, ...]] = {}
        for document in self._stamps:
            self._read(document)

    @property
    def register(self) -> Register:
        """The register, the same object until it changes.

        Raises StoreUnavailable once its database has been away for AWAY_SECONDS: later revocations
        are unknown then.
        """
        known = self.known_register()
        if known is None:
            raise StoreUnavailable(
                "revocations of tokens are unknown: their database has not answered for"
                f" {AWAY_SECONDS:.0f} s"
            )
        return known

    def known_register(self) -> Register | None:
        """The register; None once its database has been away for AWAY_SECONDS."""
        since = self._away_since
        return self._register if since is None or self._clock() < since + AWAY_SECONDS else None

    def secrets(self, document: str) -> tuple[str, ...]:
        """The secrets of a document as they were last read, the present one first."""
        return self._secrets[document]

    def prepare(self, document: str) -> None:
        """Make the secrets of a document where there are none yet."""
        if document not in self._secrets:
            make_secrets(self.safe, document)
            self._stamps[document] = self.safe.stamps()[document]
            self._read(document)

    def follow(self) -> set[str]:
        """Read the documents that have changed, and return their names.

        A document that cannot be read keeps its former content, and is tried again.
        """
        taken = set[str]()
        try:
            stamps = self.safe.stamps()
            for each in DOCUMENTS:
                stamp = stamps.get(each)
                if stamp != self._stamps.get(each) and self._take(each, stamp):
                    taken.add(each)
        except (StoreUnavailable, OSError) as error:
            if self._away_since is None:
                self._away_since = self._clock()
                log.error("register of tokens not followed", extra={"reason": str(error)})
            return taken
        if self._away_since is not None:
            self._away_since = None
            log.warning("register of tokens followed again")
        return taken

    def _take(self, document: str, stamp: object) -> bool:
        called = _CALLED[document]
        try:
            if stamp is None:
                raise InvalidInput(f"{self.safe.name(document)} is gone")
            self._read(document)
        except InvalidInput as error:
            if document not in self._failed or stamp != self._failed[document]:
                log.error(f"{called} not followed", extra={"reason": error.message})
                self._failed[document] = stamp
            return False
        log.warning(f"{called} changed", extra={"file": self.safe.name(document)})
        self._stamps[document] = stamp
        self._failed.pop(document, None)
        return True

    def _read(self, document: str) -> None:
        """Read a document whose stamp was read before, so that no change is missed."""
        content, origin = self.safe.read(document), self.safe.name(document)
        if document == REGISTER:
            self._register = decode_register(content, origin)
        elif content is not None:
            self._secrets[document] = read_secrets(document, content, origin)


def open_safe(settings: Settings, *, is_there: bool = True) -> Safe:
    """The safe in the data directory, or in the database of the log where that is named.

    The tables of a log are made where the caller does not expect that they are there. Raises
    Conflict where the log of the directory is elsewhere than the settings say, StoreUnavailable,
    and InvalidInput for what a directory had before and cannot be read.
    """
    directory = DirectorySafe(settings.directory)
    address = address_in(settings.directory, settings.database_url)
    if not settings.database_url:
        return directory
    open_event_log(address, is_there=is_there).close()
    with needing_the_extra():
        from api.callers.tokens.database_safe import DatabaseSafe  # noqa: PLC0415 - an extra
    safe = DatabaseSafe(settings.database_url)
    documents = [SECRET, SESSION_KEY] if settings.makes_secret else [SESSION_KEY]
    try:
        _take_over(directory, safe, documents)
    except BaseException:
        safe.close()
        raise
    return safe


def _take_over(directory: DirectorySafe, safe: Safe, documents: Sequence[str]) -> None:
    """Take the register and documents of a host's directory into the safe that all hosts share.

    A token that was revoked on any host stays revoked. Of secrets the first one taken over counts:
    to trust that of a further directory could bring back one that was dropped. The files get other
    names then, so that each is taken over once; a crash before that has it taken over again, which
    changes nothing.
    """
    if directory.read(REGISTER) is not None:
        had = read_register(directory)
        change_register(safe, time.time(), lambda register: joined(register, had))
        _set_aside(directory, REGISTER, taken=True)
    for document in documents:
        content = directory.read(document)
        if content is not None:
            present, *_ = read_secrets(document, content, directory.name(document))
            made = read_secrets(document, safe.make(document, content), safe.name(document))
            _set_aside(directory, document, taken=made[0] == present)


def _set_aside(directory: DirectorySafe, document: str, *, taken: bool) -> None:
    log.warning(
        "taken over into the database" if taken else "not used: the database has another one",
        extra={"file": directory.name(document), "is_now": directory.set_aside(document)},
    )
