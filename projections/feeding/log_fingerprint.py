"""The fingerprint of a log at a position tells whether a read model was built from this log.

A checkpoint alone does not tell: a restored log that has grown again has some other event at the
same position. So each checkpoint is committed with a digest of the log's identity and the event
at that position.
"""

from hashlib import blake2b

import msgspec

from domain.event_store.entity_reads import RecordedEvent
from domain.event_store.port import EventStore
from projections.feeding.port import Damaged


def fingerprint_of(log_id: str, recorded: RecordedEvent) -> str:
    """The fingerprint, 24 hexadecimal digits, of the log with this identity at this event."""
    event = recorded.event
    seen = (
        log_id,
        recorded.position,
        recorded.entity_id,
        recorded.stream_version,
        type(event).__name__,
        event.request_id,
        event.at,
    )
    return blake2b(msgspec.json.encode(seen), digest_size=12).hexdigest()


def fingerprint_at(log: EventStore, position: int) -> str | None:
    """The fingerprint of the log at a position; "" at 0, None where the log has no event."""
    if position == 0:
        return ""
    events = log.read(position - 1, 1, upto=position)
    return fingerprint_of(log.identity(), events[0]) if events else None


def fingerprint_of_head(log: EventStore, head: int) -> str:
    """The fingerprint of the log at its head; raises Damaged where it has no event there."""
    fingerprint = fingerprint_at(log, head)
    if fingerprint is None:
        raise Damaged(f"the log has no event at its head, position {head}")
    return fingerprint


def disagreement(log: EventStore, position: int, fingerprint: str) -> str | None:
    """Return the reason why a read model is not of this log; None when it is."""
    expected = fingerprint_at(log, position)
    if fingerprint == expected:
        return None
    if expected is None:
        return f"it stands at position {position}, which the log (head {log.head()}) does not have"
    return f"it was built from another log: another event stands at position {position} there"
