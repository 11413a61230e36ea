"""Opens the safe of a catalog; one in a database takes over the documents of the directory."""

import logging
import time
from collections.abc import Sequence

from api.callers.tokens.register import change_register, joined, read_register
from api.callers.tokens.safe import REGISTER, SECRET, SESSION_KEY, DirectorySafe, Safe
from api.callers.tokens.secret import read_secrets
from api.settings import Settings
from domain.event_store.opening import address_in, needing_the_extra, open_event_log

log = logging.getLogger("catalog.tokens")


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

    What was revoked on any host stays revoked. Of secrets the first one taken over counts: to trust
    that of a further directory could bring back one that was dropped. The files get other names
    then, so that each is taken over once; a crash before that has it taken over again, which
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
