"""Definitions of custom properties: what `extension` of a kind may have under some of its keys."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from domain.errors import InvalidInput, about, shown
from domain.kinds.bodies.base import EntityBody
from domain.kinds.bodies.components import Part, Ref, Reference
from domain.kinds.bodies.property_types import PROPERTY_TYPES, TYPE_IDS, TYPE_NAMES, ValueCheck

MAX_PROPERTIES = 1_000
"""Custom properties of one kind."""
PROPERTIES = "customProperties"
_NAME = r"^[A-Za-z0-9][A-Za-z0-9 _\-.,;%#@!'(){}\[\]|=+?`]*$"
"""The names that OpenMetadata allows: none of them means something in a JSON pointer."""


class PropertyConfig(Part, kw_only=True):
    """Bounds of the values of a custom property; of which form depends on its type."""

    config: Any = None


class CustomProperty(Part, kw_only=True):
    """A key of `extension` and the values that it may have."""

    name: Annotated[str, Meta(min_length=1, max_length=256, pattern=_NAME)]
    display_name: str | None = None
    description: str | None = None
    property_type: Ref
    custom_property_config: PropertyConfig | None = None

    def __post_init__(self) -> None:
        """Refer to the type by all its names; raises InvalidInput for an unknown one."""
        given: Any = self.property_type
        if not isinstance(given, str):
            given = given.id or given.fully_qualified_name or given.name
        name = TYPE_NAMES.get(given, given)
        if name not in PROPERTY_TYPES:
            raise InvalidInput(
                f"propertyType of {shown(self.name)} must be one of {', '.join(PROPERTY_TYPES)}, by"
                f" its id or name, got {shown(given)}"
            )
        self.property_type = Reference(
            type="type", id=TYPE_IDS[name], name=name, fully_qualified_name=name
        )
        self.value_check()

    @property
    def type_name(self) -> str:
        """The name of the type of the values."""
        assert isinstance(self.property_type, Reference)
        assert self.property_type.name is not None
        return self.property_type.name

    def value_check(self) -> ValueCheck:
        """The check of values; raises InvalidInput for a configuration that does not fit."""
        config = self.custom_property_config.config if self.custom_property_config else None
        with about(f"customPropertyConfig of {shown(self.name)}, {self.type_name}"):
            return PROPERTY_TYPES[self.type_name].check_for(config)


class Type(EntityBody, kw_only=True):
    """The custom properties of a kind; its name is that of the kind."""

    custom_properties: Annotated[list[CustomProperty], Meta(max_length=MAX_PROPERTIES)] = (
        msgspec.field(default_factory=list)
    )

    def check(self) -> None:
        """Raise InvalidInput for two properties of one name."""
        names = set[str]()
        for each in self.custom_properties:
            if each.name in names:
                raise InvalidInput(f"{PROPERTIES}: {shown(each.name)} is there twice")
            names.add(each.name)

    def complete(self, fqn: str) -> None:
        """Put the properties in the order of their names."""
        super().complete(fqn)
        self.custom_properties.sort(key=lambda each: each.name)
