"""The checks of custom properties of a kind, each made once for a state of their definitions."""

import msgspec
from msgspec import Raw

from domain.aggregate.entity import Entity
from domain.kinds.bodies.custom_properties import PROPERTIES, CustomProperty
from domain.kinds.bodies.property_types import ValueCheck

_MOST_KINDS = 4
"""Kinds whose checks are held: definitions of one may have megabytes of allowed values."""


class _Named(msgspec.Struct):
    name: str


_raw = msgspec.json.Decoder(list[Raw])
_named = msgspec.json.Decoder(_Named)
_property = msgspec.json.Decoder(CustomProperty)


class PropertyChecks:
    """The checks of the values that a kind's custom properties take."""

    def __init__(self, definitions: bytes) -> None:
        """`definitions` is the JSON array of `PROPERTIES`."""
        self._definitions = {_named.decode(each).name: each for each in _raw.decode(definitions)}
        self._made: dict[str, ValueCheck] = {}

    def of(self, name: str) -> ValueCheck | None:
        """The check of a property; None where no property has the name."""
        if name not in self._made and name in self._definitions:
            self._made[name] = _property.decode(self._definitions[name]).value_check()
        return self._made.get(name)


_held: dict[str, tuple[Raw, PropertyChecks]] = {}
"""Id of a kind's type -> its definitions, and their checks."""


def property_checks(defined: Entity) -> PropertyChecks:
    """The checks that the type of a kind defines in this state."""
    definitions = defined.body.get(PROPERTIES, Raw(b"[]"))
    held = _held.get(defined.id)
    if held is not None and (held[0] is definitions or held[0] == definitions):
        return held[1]
    made = PropertyChecks(bytes(definitions))
    while len(_held) >= _MOST_KINDS:
        _held.pop(next(iter(_held)), None)
    _held[defined.id] = definitions, made
    return made
