"""The catalog's own secrets: for tokens that it signs itself, and for sessions of its pages."""

import logging
import os
import secrets
from pathlib import Path

log = logging.getLogger("catalog.secret")

_FILE = "secret"
_SESSIONS = "session-key"


def read_own_secret(directory: Path) -> tuple[str, Path]:
    """The secret in a data directory and its file, made at first use (mode 0600)."""
    return _read(directory, _FILE)


def read_session_key(directory: Path) -> bytes:
    """32 bytes that seal the sessions of the pages, made at first use (mode 0600)."""
    return bytes.fromhex(_read(directory, _SESSIONS)[0])


def _read(directory: Path, name: str) -> tuple[str, Path]:
    path = directory / name
    if not path.exists():
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = directory / f"{name}.{os.getpid()}"
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_hex(32))
            file.flush()
            os.fsync(file.fileno())
        try:
            # A link fails where a rename would overwrite what another process just made.
            os.link(fresh, path)
        except FileExistsError:
            pass
        finally:
            fresh.unlink()
        sync_names(directory)
    return path.read_text().strip(), path


def has_own_secret(directory: Path) -> bool:
    """Whether a data directory holds a secret already."""
    return (directory / _FILE).exists()


def warn_of_readers(directory: Path) -> None:
    """Log a warning when others than the owner may read or change the catalog's own secret."""
    path = directory / _FILE
    mode = path.stat().st_mode & 0o777
    if mode & 0o077:
        log.warning(
            "others can read the secret: chmod 600",
            extra={"file": str(path), "mode": f"{mode:04o}"},
        )


def sync_names(directory: Path) -> None:
    """Make a new file's name survive power loss."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
