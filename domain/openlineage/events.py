"""Reads OpenLineage's events: those of runs, of jobs and of datasets.

Only what is no event at all is refused: no JSON, no `eventTime`, or no name of what it is about.
Facets stay as they came and are read one by one (`facets.py`).
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from hashlib import blake2b
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Raw, Struct

from domain.dates import milliseconds
from domain.errors import InvalidInput, shown
from domain.events import values_by_key
from domain.patches.json_input import MISFITS

MOST_EVENTS = 1_000
"""Events of one batch."""
MOST_NAME = 2_048
"""Characters of a name or namespace."""
_NOTHING = Raw(b"{}")
T = TypeVar("T")

Name = Annotated[str, Meta(min_length=1, max_length=MOST_NAME)]


class Dataset(Struct, rename="camel"):
    """A dataset as an event names it."""

    namespace: Name
    name: Name
    facets: Raw = _NOTHING
    input_facets: Raw = _NOTHING
    output_facets: Raw = _NOTHING


class Job(Struct):
    """The job that an event is about."""

    namespace: Name
    name: Name
    facets: Raw = _NOTHING


class Run(Struct, rename="camel"):
    """The run that an event is about."""

    run_id: Name
    facets: Raw = _NOTHING


class Event(Struct, rename="camel"):
    """An event: of a run if it has one, of a job if it has that alone, or of a dataset."""

    event_time: datetime
    event_type: Any = None
    run: Run | None = None
    job: Job | None = None
    dataset: Dataset | None = None
    inputs: list[Dataset] | None = None
    outputs: list[Dataset] | None = None

    @property
    def at(self) -> int:
        """The time of the event in milliseconds since 1970; one without zone is of UTC."""
        return milliseconds(self.event_time)


class _Said(Struct, rename="camel"):
    """The parts of an event that say something, as they came."""

    event_time: datetime
    event_type: Raw = _NOTHING
    run: Raw = _NOTHING
    job: Raw = _NOTHING
    dataset: Raw = _NOTHING
    inputs: Raw = _NOTHING
    outputs: Raw = _NOTHING


_said = msgspec.json.Decoder(_Said).decode
_decode = msgspec.json.Decoder(Event).decode
_batch = msgspec.json.Decoder(list[Raw])


def read_event(data: bytes | Raw) -> Event:
    """The event in some JSON; raises InvalidInput for what is none."""
    event = _read(_decode, data)
    if event.dataset is None and event.job is None:
        raise InvalidInput("an event of OpenLineage has a `job` or a `dataset`, and this has none")
    for each in _named(event):
        _check(each.namespace, "namespace")
        _check(each.name, "name")
    if event.run is not None:
        _check(event.run.run_id, "runId")
    return event


def digest_of(data: bytes | Raw) -> bytes:
    """A digest of what an event says, its run included but not its time; raises InvalidInput.

    It takes a tenth of the time of reading the event, as its parts are not looked into.
    """
    said = _read(_said, data)
    digest = blake2b(digest_size=16)
    for part in (said.event_type, said.run, said.job, said.dataset, said.inputs, said.outputs):
        digest.update(b"%d:" % len(part))
        digest.update(part)
    return digest.digest()


def _read(decode: Callable[[bytes | Raw], T], data: bytes | Raw) -> T:
    try:
        return decode(data)
    except MISFITS as error:
        raise InvalidInput(f"this is no event of OpenLineage: {error}") from None
    except (ValueError, OverflowError) as error:
        raise InvalidInput(f"this is no event of OpenLineage: eventTime: {error}") from None


def read_batch(data: bytes) -> Sequence[Raw]:
    """The JSON of each event of a batch, a list or `{"events": [...]}`; raises InvalidInput."""
    try:
        if data.lstrip()[:1] == b"{":
            data = values_by_key(data).get("events", Raw(b"null"))
        events = _batch.decode(data)
    except MISFITS as error:
        raise InvalidInput(
            f'a batch is a JSON list of events, or {{"events": [...]}}: {error}'
        ) from None
    if len(events) > MOST_EVENTS:
        raise InvalidInput(f"a batch may have {MOST_EVENTS:,} events, got {len(events):,}")
    return events


def _named(event: Event) -> list[Dataset | Job]:
    about = [each for each in (event.job, event.dataset) if each is not None]
    return [*about, *(event.inputs or ()), *(event.outputs or ())]


def is_name(text: str) -> bool:
    """True if a text may name something: it is not empty, not long, and no database refuses it."""
    return 0 < len(text) <= MOST_NAME and not _has_control(text)


def _has_control(text: str) -> bool:
    return not text.isprintable() and any(c < " " or "\ud800" <= c <= "\udfff" for c in text)


def _check(name: str, where: str) -> None:
    """Raise InvalidInput for control characters, which no database takes in a name."""
    if _has_control(name):
        raise InvalidInput(f"a {where} may hold no control characters: {shown(name)}")
