"""The tree of errors with which the catalog refuses or fails a request.

CatalogError
├── RequestRefused              the catalog works, and does not do what was asked for
│   ├── InvalidInput            the request itself is wrong
│   │   ├── EntityOverLimit     the entity would be larger than an entity may be
│   │   ├── Unplaced            a document does not tell which entity it is about
│   │   └── NotEmpty            an entity with children was to be deleted without `recursive`
│   ├── NotPermitted            the write needs something that its caller may not do
│   ├── NotFound                no such entity, or it is soft-deleted where a live one is needed
│   ├── Purged                  the entity was there, and has been purged with its past
│   ├── BeforeHorizon           the past that is asked for is not kept any more
│   ├── Conflict                the request is right, the state of the catalog does not allow it
│   │   ├── AlreadyExists       the qualified name (or the id) is taken
│   │   ├── InvalidTransition   the contract's state machine has no such step
│   │   └── KeyReused           an idempotency key came back with another request
│   ├── StaleVersion            `If-Match` names a version that is no longer current
│   └── ConcurrentChange        another writer was first; the caller may try again
└── StoreUnavailable            the log or a read model cannot be read or written now
    ├── LaterRelease            the log, or a file, uses what only a later release knows
    ├── DamagedEvent            an event of the log cannot be read
    └── OutcomeUnknown          the log went away while it stored a write, which it may have done

Raised in domain and projections, rendered only at the edges (HTTP, commands).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

MAX_MESSAGE = 2_000
"""Most characters of a message, whatever it repeats of a caller's input."""
_MAX_SHOWN = 80


def cut(text: str, most: int) -> str:
    """A text of at most so many characters, with an ellipsis behind it where it was longer."""
    return text if len(text) <= most else f"{text[:most]}…"


def shown(given: Any) -> str:
    """The beginning of a caller's input, as a message repeats it."""
    return repr(given[:_MAX_SHOWN]) if isinstance(given, str) else repr(given)[:_MAX_SHOWN]


@contextmanager
def about(what: str) -> Iterator[None]:
    """Say before the message of an InvalidInput in the block what is wrong."""
    try:
        yield
    except InvalidInput as error:
        raise InvalidInput(f"{what}: {error.message}") from None


class CatalogError(Exception):
    """Base of every error that is reported to a caller of the catalog."""

    def __init__(self, message: str) -> None:
        message = message if len(message) <= MAX_MESSAGE else f"{message[:MAX_MESSAGE]}..."
        super().__init__(message)
        self.message = message


class RequestRefused(CatalogError):
    """The catalog works, and does not do what was asked for."""


class InvalidInput(RequestRefused):
    """The request is malformed; the message says what is wrong, where, and what is allowed."""


class EntityOverLimit(InvalidInput):
    """The write would leave an entity with more bytes than the limit."""


class Unplaced(InvalidInput):
    """No entity, or more than one, is what a document may be about."""


class NotEmpty(InvalidInput):
    """The entity still has children, and the request has no `recursive`."""


class NotPermitted(RequestRefused):
    """In the present state of the catalog, the write needs a permission that its caller lacks."""


class NotFound(RequestRefused):
    """No such entity, or it is soft-deleted where a live one is needed."""


class Purged(RequestRefused):
    """The entity was there, and has been purged with its past."""


class BeforeHorizon(RequestRefused):
    """The position lies before the earliest one as of which the past is kept."""


class Conflict(RequestRefused):
    """The catalog's state does not allow the request."""


class AlreadyExists(Conflict):
    """The qualified name or the id is taken."""


class InvalidTransition(Conflict):
    """The status machine has no such step; the message names the allowed targets."""

    def __init__(self, current: str, target: str, allowed: Sequence[str]) -> None:
        self._steps = current, target, allowed
        super().__init__(self.told(str))

    def told(self, name: Callable[[str], str]) -> str:
        """The message to a caller who has a `name` of its own for each status."""
        current, target, allowed = self._steps
        return (
            f"a contract cannot go from {name(current)} to {name(target)};"
            f" from {name(current)} it may go to {' or '.join(map(name, allowed))}"
        )


class KeyReused(Conflict):
    """An idempotency key was used before for another request."""


class StaleVersion(RequestRefused):
    """The caller's `If-Match` version is not the current one."""


class ConcurrentChange(RequestRefused):
    """Another writer changed the state that a write rests on, between its read and its append."""

    def __init__(self, message: str, entity_ids: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.entity_ids = entity_ids
        """The ids of the entities concerned, as far as they are known."""


class StoreUnavailable(CatalogError):
    """The log or a read model cannot be read or written now."""


class LaterRelease(StoreUnavailable):
    """The log, or an export of one, uses a feature that only a later release knows.

    The message says which one, as far as that is known, and holds nothing that is secret.
    """


class DamagedEvent(StoreUnavailable):
    """An event of the log cannot be read; the message says which one."""


class OutcomeUnknown(StoreUnavailable):
    """The log went away during a write and did not come back in time to report the result."""
