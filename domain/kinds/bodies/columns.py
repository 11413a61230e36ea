"""The named parts of entities, such as the columns of a table, at every depth."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

from domain.errors import InvalidInput
from domain.kinds.bodies.components import Extension, Integer, Part, TagLabel
from domain.kinds.bodies.enumerations import (
    WAREHOUSE_TYPES,
    ColumnType,
    Constraint,
    IndexFieldType,
    SchemaFieldType,
    WarehouseType,
)
from domain.kinds.names import MAX_NAME_LENGTH, check_name, child
from domain.patches.payload_bounds import check_entity_bytes

MAX_PARTS = 20_000
"""The most columns, fields or tasks of an entity, at all levels together."""
MAX_PART_FQN = 3_072
"""The most characters of a part's qualified name, which holds the names of all levels above."""


class NamedPart(Part, kw_only=True):
    """A part of an entity with a qualified name and tags of its own."""

    noun: ClassVar[str] = "part"
    """The word for such a part in messages."""

    name: str
    fully_qualified_name: str | None = None
    description: str | None = None
    tags: list[TagLabel] | None = None

    def inner_parts(self) -> "Sequence[NamedPart]":
        """The named parts that this part consists of, such as the fields of a STRUCT."""
        return getattr(self, "children", None) or ()


class Column(NamedPart, kw_only=True):
    """One column; a STRUCT has its fields as `children`.

    A type in a warehouse's own spelling is recorded in OpenMetadata's, and the spelling that
    was given is kept for display.
    """

    noun = "column"

    data_type: ColumnType | WarehouseType
    display_name: str | None = None
    array_data_type: ColumnType | WarehouseType | None = None
    data_length: Integer | None = None
    precision: Integer | None = None
    scale: Integer | None = None
    data_type_display: str | None = None
    constraint: Constraint | None = None
    ordinal_position: Integer | None = None
    json_schema: str | None = None
    children: "list[Column] | None" = None
    extension: Extension | None = None

    def __post_init__(self) -> None:
        if self.data_type in WAREHOUSE_TYPES:
            self.data_type_display = self.data_type_display or self.data_type
            self.data_type = WAREHOUSE_TYPES[self.data_type]
        if self.array_data_type is not None:
            self.array_data_type = WAREHOUSE_TYPES.get(self.array_data_type, self.array_data_type)


class SchemaField(NamedPart, kw_only=True):
    """One field of a message; a RECORD has fields as `children`."""

    noun = "field"

    data_type: SchemaFieldType
    display_name: str | None = None
    data_type_display: str | None = None
    children: "list[SchemaField] | None" = None


class IndexField(NamedPart, kw_only=True):
    """One field of a search index; an OBJECT has fields as `children`."""

    noun = "field"

    data_type: IndexFieldType
    display_name: str | None = None
    data_type_display: str | None = None
    children: "list[IndexField] | None" = None


def _counted(count: int, level: Sequence[NamedPart]) -> int:
    """The number of parts with those of one more level; raises InvalidInput for too many."""
    if count + len(level) > MAX_PARTS:
        noun = level[0].noun
        raise InvalidInput(f"an entity may have {MAX_PARTS} {noun}s, at all levels together")
    return count + len(level)


def check_level(parts: Sequence[NamedPart], where: str) -> list[str]:
    """The names of parts; raises InvalidInput when one is unfit, or `where` has it twice."""
    part_names = [part.name for part in parts]
    # As nearly all are; else each is looked at.
    if (
        len(set(part_names)) == len(part_names)
        and "".join(part_names).isprintable()
        and all(part_names)
        and max(map(len, part_names)) <= MAX_NAME_LENGTH
    ):
        return part_names
    seen: set[str] = set()
    for part in parts:
        check_name(part.name, f"the name of a {part.noun} of {where}")
        if part.name in seen:
            raise InvalidInput(f"{where} has two {part.noun}s with the name {part.name!r}")
        seen.add(part.name)
    return part_names


def check_parts(parts: Sequence[NamedPart] | None, where: str) -> None:
    """Check the number of parts and the names at each level, but give no qualified names.

    Raises InvalidInput for too many parts, and for names that are unfit or come twice.
    """
    count, levels = 0, [(where, parts)] if parts else []
    while levels:
        place, level = levels.pop()
        count = _counted(count, level)
        check_level(level, place)
        for part in level:
            if children := part.inner_parts():
                levels.append((f"{part.noun} {part.name!r} of {place}", children))


def name_parts(parts: Sequence[NamedPart] | None, parent_fqn: str) -> None:
    """Give each part its qualified name under `parent_fqn`, at every depth.

    Raises InvalidInput for too many parts and for names that are unfit, and EntityOverLimit when
    the qualified names alone would take more than an entity may.
    """
    count = size = 0
    levels = [(parent_fqn, parts)] if parts else []
    while levels:
        above, level = levels.pop()
        count = _counted(count, level)
        part_names = check_level(level, above)
        joined = "".join(part_names)
        size += len(joined) + len(level) * (len(above) + 1)
        check_entity_bytes(size)
        if "." in joined or '"' in joined:
            fqns = [child(above, name) for name in part_names]
        else:
            fqns = [f"{above}.{name}" for name in part_names]
        if len(longest := max(fqns, key=len)) > MAX_PART_FQN:
            raise InvalidInput(
                f"the qualified name of a {level[0].noun} may have {MAX_PART_FQN} characters,"
                f" got {len(longest)} for {part_names[fqns.index(longest)][:80]!r}"
            )
        for part, fqn in zip(level, fqns, strict=True):
            part.fully_qualified_name = fqn
            if part.tags is None:
                part.tags = []
            if children := part.inner_parts():
                levels.append((fqn, children))


def part_tags(parts: Sequence[NamedPart] | None) -> Iterator[TagLabel]:
    """Every tag label on the parts and on their inner parts."""
    for part in parts or ():
        if part.tags:
            yield from part.tags
        if children := part.inner_parts():
            yield from part_tags(children)
