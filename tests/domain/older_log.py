"""Contents of logs from before there was a rule, for the tests of those that go on with them."""

from msgspec.structs import replace

from domain.event_store.entity_reads import RecordedEvent
from domain.event_store.port import EventStore
from domain.events import EntityCreated
from domain.kinds.ids import new_id


def add_twin(log: EventStore, entity_id: str, name: str, fqn: str) -> str:
    """Append an entity created as another one was, under another name; returns its id.

    Nothing is expected of the log, so that an entity gets a second contract.
    """
    (first,) = log.stream(entity_id, upto=1)
    assert isinstance(first.event, EntityCreated)
    twin = RecordedEvent(new_id(), 1, replace(first.event, name=name, fqn=fqn))
    log.append([twin])
    return twin.entity_id
