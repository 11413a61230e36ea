"""Converts events to what the log stores, a fixed type name and JSON bytes, and back."""

import msgspec

from domain.aggregate.upcasters import UPCASTERS, Upcasters, current_schema, upcast
from domain.errors import shown
from domain.event_store.entity_reads import RecordedEvent
from domain.event_store.features import KNOWN, later_event
from domain.event_store.writes import NewRow
from domain.events import EVENT_TYPES, TYPE_NAMES, Event, values_by_key


class _Header(msgspec.Struct):
    schema: int = 1


class EventMapper:
    """Maps events to their stored form and back; eventsourcing's mapper needs a `__dict__`."""

    def __init__(self, upcasters: Upcasters = UPCASTERS) -> None:
        self._upcasters = upcasters
        self._schemas = {name: current_schema(name, upcasters) for name in EVENT_TYPES}
        self._encoder = msgspec.json.Encoder()
        self._decoders = {
            name: msgspec.json.Decoder(event_type) for name, event_type in EVENT_TYPES.items()
        }
        self._header = msgspec.json.Decoder(_Header)

    def to_row(self, recorded: RecordedEvent) -> NewRow:
        """The stored form of an event that has no position yet."""
        topic = TYPE_NAMES[type(recorded.event)]
        state = self._encoder.encode(recorded.event)
        if (schema := self._schemas[topic]) > 1:
            state = b'{"schema":%d,' % schema + state[1:]
        return recorded.entity_id, recorded.stream_version, topic, state

    def decode(self, topic: str, state: bytes) -> Event:
        """The event of a type name and its payload, lifted to the current schema.

        Raises LaterRelease for a type, a schema, a field or a kind that this program does not know,
        and msgspec.DecodeError when the payload is damaged.
        """
        schema = self._schemas.get(topic)
        if schema is None:
            raise later_event(f"the type {shown(topic)}")
        if not state.isascii():
            _check_text(state)
        if schema > 1:
            stored = self._header.decode(state).schema
            if stored > schema:
                raise later_event(f"schema {stored} of {topic}")
            # Also where nothing is to be lifted, this takes out the key `schema`.
            payload = upcast(topic, msgspec.json.decode(state), self._upcasters)
            state = self._encoder.encode(payload)
        try:
            event = self._decoders[topic].decode(state)
        except msgspec.ValidationError:
            self._refuse_later_fields(topic, state)
            raise
        if f"kind:{event.kind}" not in KNOWN:
            raise later_event(f"the kind {shown(event.kind)}")
        return event

    def _refuse_later_fields(self, topic: str, state: bytes) -> None:
        """Raise LaterRelease when a payload has fields that its type has not."""
        fields = msgspec.structs.fields(EVENT_TYPES[topic])
        given = values_by_key(state)
        unknown = sorted(given.keys() - {field.encode_name for field in fields})
        if "schema" in unknown:
            raise later_event(f"a schema of {topic} above {self._schemas[topic]}")
        if unknown:
            raise later_event(f"the field {shown(unknown[0])} of {topic}")


def _check_text(state: bytes) -> None:
    """Raise DecodeError for a payload that is no UTF-8, which `Raw` values may hide."""
    try:
        state.decode()
    except UnicodeDecodeError as error:
        raise msgspec.DecodeError(f"the payload is no UTF-8: {error.reason}") from None


_mapper = EventMapper()
DAMAGES = (msgspec.MsgspecError, KeyError, ValueError)
"""Errors that `EventMapper.decode` and its upcasters raise for a damaged payload."""
to_row, decode_event = _mapper.to_row, _mapper.decode
"""The mapping of this program, with its upcasters."""
