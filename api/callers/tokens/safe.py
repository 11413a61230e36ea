"""The safe of a catalog: what its tokens, sessions and sign-ins are made and held to.

It is in the data directory, or in the database of the log, where all hosts of the catalog share it.
"""

import fcntl
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path

from domain.errors import InvalidInput
from domain.machine import durable_files

REGISTER, SECRET, SESSION_KEY = "tokens.json", "secret", "session-key"
"""The documents in a safe: the register of tokens, the secrets that sign them, and the keys that
seal sessions."""
DOCUMENTS = (REGISTER, SECRET, SESSION_KEY)
_LOCK = "tokens.lock"
_LINKS = "sign-in"
_ASIDE = ".before-database"


class Safe(ABC):
    """Keeps small documents, and the links that sign in once; its methods block.

    The methods raise StoreUnavailable where the database of the safe does not answer, and
    InvalidInput or OSError for files that cannot be read or written.
    """

    @abstractmethod
    def name(self, document: str) -> str:
        """The name of a document and its location, for messages."""

    @abstractmethod
    def stamps(self) -> Mapping[str, object]:
        """For each existing document, a value that differs after each change of it."""

    @abstractmethod
    def read(self, document: str) -> bytes | None:
        """The content of a document; None where it is missing."""

    @abstractmethod
    def change(self, document: str, change: Callable[[bytes | None], bytes]) -> bytes:
        """Change a document, unless another process does meanwhile; returns its new content.

        `change` makes the new content of the old one, and is called again if another process was
        first. The returned content survives power loss.
        """

    @abstractmethod
    def put_link(self, digest: str, link: bytes, expires: float) -> None:
        """Keep a link under a digest of its secret, so that who reads the safe learns no link.

        Links that are past their time are removed; `expires` is in seconds since 1970.
        """

    @abstractmethod
    def take_link(self, digest: str) -> bytes | None:
        """Take a link away; None where it does not exist, or another process has taken it."""

    @abstractmethod
    def close(self) -> None:
        """Close connections; nothing may use the safe afterwards."""

    def make(self, document: str, content: bytes) -> bytes:
        """Store a document unless it exists; returns the content, whichever process made it."""
        present = self.read(document)
        if present is not None:
            return present
        return self.change(document, lambda now: content if now is None else now)


class DirectorySafe(Safe):
    """The safe of the processes of one data directory; only its owner may read its files."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def name(self, document: str) -> str:
        """The path of its file."""
        return str(self._directory / document)

    def stamps(self) -> Mapping[str, object]:
        """Stamps of the files; takes some microseconds."""
        stamps = {
            document: durable_files.stamp(self._directory / document) for document in DOCUMENTS
        }
        return {document: stamp for document, stamp in stamps.items() if stamp is not None}

    def read(self, document: str) -> bytes | None:
        """The bytes of its file."""
        path = self._directory / document
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InvalidInput(f"{path} cannot be read: {error.strerror}") from None

    def change(self, document: str, change: Callable[[bytes | None], bytes]) -> bytes:
        """Replace its file under a lock; makes the directory where that is missing."""
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._directory / document
        with (self._directory / _LOCK).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            changed = change(self.read(document))
            fresh = path.with_name(f"{document}.new")
            durable_files.write(fresh, changed, 0o600)
            fresh.replace(path)
            durable_files.sync(self._directory)
        return changed

    def put_link(self, digest: str, link: bytes, expires: float) -> None:
        """Make a file whose name is the digest, and whose time of change is that of its end."""
        folder = self._directory / _LINKS
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for file in folder.iterdir():
            if file.stat().st_mtime < time.time():
                file.unlink(missing_ok=True)
        durable_files.write(folder / digest, link, 0o600)
        os.utime(folder / digest, (expires, expires))

    def take_link(self, digest: str) -> bytes | None:
        """Read a file and remove it: whichever process removes it has taken it."""
        file = self._directory / _LINKS / digest
        try:
            link = file.read_bytes()
            file.unlink()
        except FileNotFoundError:
            return None
        return link

    def close(self) -> None:
        """Nothing is open."""

    def set_aside(self, document: str) -> str:
        """Rename the file of a document that another safe has now; returns the new path."""
        path = self._directory / document
        aside = path.with_name(document + _ASIDE)
        path.replace(aside)
        durable_files.sync(self._directory)
        return str(aside)
