"""The leadership of a read model: the process that feeds it, one of all that share its store."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from socket import gethostname
from typing import Protocol

from projections.feeding.daemon import ProjectorLock, is_projected


class Leadership(Protocol):
    """The right to feed a read model and to switch its generations, which one process has."""

    def leader(self) -> str | None:
        """The name of the host whose process has it now; None when none does.

        Raises StoreUnavailable.
        """

    def held(self) -> AbstractContextManager[None]:
        """Has it for a block; raises StoreUnavailable when another process does."""

    def take(self) -> bool:
        """True if this process leads now; it does until `leads` says otherwise.

        Raises StoreUnavailable.
        """

    def leads(self) -> bool:
        """True if this process leads still."""

    def release(self) -> None:
        """Leaves the lead to another process."""


class FolderLeadership:
    """The leadership of the process that holds the ProjectorLock of a data directory.

    A process that supervises holds the lock from before until after: it leads all the while.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def leader(self) -> str | None:
        """This host's name when some process projects the directory."""
        return gethostname() if is_projected(self._directory) else None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Holds the lock for a block; raises StoreUnavailable when another process does."""
        with ProjectorLock(self._directory):
            yield

    def take(self) -> bool:
        """True: the lock is held."""
        return True

    def leads(self) -> bool:
        """True, until the process ends."""
        return True

    def release(self) -> None:
        """Does nothing: the lock is left by who took it."""
