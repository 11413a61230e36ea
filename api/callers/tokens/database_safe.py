"""The safe in the database of the log, which all hosts of a catalog share."""

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from api.callers.tokens.safe import Safe
from domain.event_store.postgres.address import read_address
from domain.event_store.postgres.clock import ClockGuard
from domain.event_store.postgres.connections import Connections
from domain.event_store.postgres.link import Link

T = TypeVar("T")

_WHAT = "the register of tokens and keys"
_SIZE = 2
_STAMPS = "SELECT name, stamp::text FROM safe_documents"
_READ = "SELECT content, stamp::text FROM safe_documents WHERE name = %b"
_PUT = (
    "INSERT INTO safe_documents AS present (name, content) VALUES (%b, %b)"
    " ON CONFLICT (name) DO UPDATE SET content = EXCLUDED.content, stamp = gen_random_uuid()"
    " WHERE present.stamp = %b::text::uuid RETURNING stamp::text"
)
"""Makes a document, or changes the one with a stamp; returns no row for another stamp."""
_PUT_LINK = (
    "WITH past AS (DELETE FROM sign_in_links WHERE expires < %b)"
    " INSERT INTO sign_in_links (digest, link, expires) VALUES (%b, %b, %b)"
    " ON CONFLICT DO NOTHING RETURNING digest"
)
_TAKE_LINK = "DELETE FROM sign_in_links WHERE digest = %b RETURNING link"


class DatabaseSafe(Safe):
    """The safe in the schema of a log whose tables are there.

    A statement is sent again where its connection broke, though it may have been done: each comes
    to the same then, but for a link, which nobody has taken in that case.
    """

    def __init__(self, url: str) -> None:
        """Raise InvalidInput for an address that is not the URL of a database."""
        self._connections = Connections(read_address(url, writable=True), what=_WHAT, size=_SIZE)
        self._clock = ClockGuard()

    def name(self, document: str) -> str:
        """The name of a document, in the database."""
        return f"{document} in the database"

    def stamps(self) -> Mapping[str, object]:
        """Random ids, as a database that is restored would come to the same numbers again."""
        return dict(self._ask(lambda link: link.rows(_STAMPS)))

    def read(self, document: str) -> bytes | None:
        """The content of a row."""
        row = self._ask(lambda link: link.one(_READ, document))
        return None if row is None else bytes(row[0])

    def change(self, document: str, change: Callable[[bytes | None], bytes]) -> bytes:
        """Replace the row that was read, and begin anew where another process was first.

        Raises StoreUnavailable on a host whose clock is wrong by more than a minute.
        """
        changed: bytes | None = None
        while True:
            row = self._ask(lambda link: link.one(_READ, document))
            content = None if row is None else bytes(row[0])
            if changed is not None and changed == content:
                # The connection broke behind a change that was made.
                return changed
            # The past is forgotten by the clock: one that is ahead would revive what was revoked.
            self._ask(self._clock.check)
            changed = change(content)
            if self._ask(partial(_put, document=document, row=row, content=changed)):
                return changed

    def put_link(self, digest: str, link: bytes, expires: float) -> None:
        """Insert a row."""
        self._ask(lambda session: session.one(_PUT_LINK, time.time(), digest, link, expires))

    def take_link(self, digest: str) -> bytes | None:
        """Delete the row: the process that deletes it has taken the link."""
        row = self._ask(lambda link: link.one(_TAKE_LINK, digest))
        return None if row is None else bytes(row[0])

    def close(self) -> None:
        """Close the connections."""
        self._connections.close()

    def _ask(self, work: Callable[[Link], T]) -> T:
        return self._connections.ask(work, within=self._connections.check_seconds)


def _put(link: Link, document: str, row: tuple[bytes, str] | None, content: bytes) -> Any:
    """Write a document unless it has changed since it was read; returns None if it has.

    Waits for a synchronous replica, so that revoked tokens stay revoked when the replica takes
    over.
    """
    stamp = link.one(_PUT, document, content, None if row is None else row[1])
    link.sync()
    return stamp
