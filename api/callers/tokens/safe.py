"""The safe of a catalog: what its tokens, sessions and sign-ins are made and held to.

It is in the data directory, or in the database of the log, where all hosts of the catalog share it.
"""

from collections.abc import Callable, Mapping
from typing import Protocol

REGISTER, SECRET, SESSION_KEY = "tokens.json", "secret", "session-key"
"""The documents in a safe: the register of tokens, the secrets that sign them, and the keys that
seal sessions."""
DOCUMENTS = (REGISTER, SECRET, SESSION_KEY)


class Safe(Protocol):
    """Some small documents, and the links that sign in once; its methods block.

    They raise StoreUnavailable where the database of the safe does not answer, and InvalidInput or
    OSError for files that cannot be read or written.
    """

    def name(self, document: str) -> str:
        """The name of a document and its location, for messages."""

    def stamps(self) -> Mapping[str, object]:
        """For each existing document, a value that differs after each change of it."""

    def read(self, document: str) -> bytes | None:
        """The content of a document; None where it is missing."""

    def make(self, document: str, content: bytes) -> bytes:
        """Store a document unless it exists; returns the content, whichever process made it."""

    def change(self, document: str, change: Callable[[bytes | None], bytes]) -> bytes:
        """Change a document, as no other process does meanwhile; returns what is in it now.

        `change` makes the new content of what is there. It may be called again with what it has
        made itself, and must come to the same then. What is returned survives power loss.
        """

    def put_link(self, digest: str, link: bytes, expires: float) -> None:
        """Keep a link under a digest of its secret; those that are past their time are removed.

        `expires` is in seconds since 1970.
        """

    def take_link(self, digest: str) -> bytes | None:
        """Take a link away; None where it does not exist, or another process has taken it."""

    def close(self) -> None:
        """Close connections; nothing may use the safe afterwards."""
