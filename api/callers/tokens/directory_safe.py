"""The safe in a data directory: a file for each document and each link."""

import fcntl
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from uuid import uuid4

from api.callers.file_stamp import file_stamp
from api.callers.tokens.safe import DOCUMENTS, Safe
from domain.errors import InvalidInput
from domain.machine import durable_files

_LOCK = "tokens.lock"
_LINKS = "sign-in"
_ASIDE = ".before-database"


class DirectorySafe(Safe):
    """The safe of the processes of one data directory; only its owner may read its files."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def name(self, document: str) -> str:
        """The path of its file."""
        return str(self._directory / document)

    def stamps(self) -> Mapping[str, object]:
        """Stamps of the files; takes some microseconds."""
        stamps = {document: file_stamp(self._directory / document) for document in DOCUMENTS}
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

    def make(self, document: str, content: bytes) -> bytes:
        """Make its file, and the directory where that is missing."""
        path = self._directory / document
        if not path.exists():
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            fresh = self._directory / f"{document}.{uuid4()}"
            durable_files.write(fresh, content, 0o600)
            try:
                # A link fails where a rename would overwrite what another process just made.
                os.link(fresh, path)
            except FileExistsError:
                pass
            finally:
                fresh.unlink()
            durable_files.sync(self._directory)
        return path.read_bytes()

    def change(self, document: str, change: Callable[[bytes | None], bytes]) -> bytes:
        """Replace its file under a lock."""
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
        """Make a file named by the digest, so that who reads the names learns no link.

        The time of its last change is set to that of its end.
        """
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
        """Give the file of a document, which another safe has now, another name; returns that."""
        path = self._directory / document
        aside = path.with_name(document + _ASIDE)
        path.replace(aside)
        durable_files.sync(self._directory)
        return str(aside)
