"""Follows the documents of the catalog's safe in a process that serves."""

import logging
import time
from collections.abc import Callable

from api.callers.tokens.register import Register, decode_register
from api.callers.tokens.safe import DOCUMENTS, REGISTER, SECRET, SESSION_KEY, Safe
from api.callers.tokens.secret import make_secrets, read_secrets
from domain.errors import InvalidInput, StoreUnavailable

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
