"""What the `fields` of a read ask for."""

from difflib import get_close_matches

from domain.errors import InvalidInput
from domain.kinds.entity_kind import EntityKind
from domain.openmetadata.entity_properties import field_aliases, known_properties
from projections.visibility.withholding import Withheld

_MOST_SHOWN = 64
"""How many characters of a wrong name the answer repeats."""


def parse_fields(
    kind: EntityKind, text: str | None, withheld: Withheld | None = None
) -> tuple[str, ...]:
    """The optional fields named in a comma-separated list; `*` names all that may be seen.

    Properties that every answer shows, and those that OpenMetadata has and this catalog does not
    hold, may be named too and add nothing. Raises InvalidInput naming the first field that the
    kind does not have, or FieldWithheld.
    """
    if not text:
        return ()
    fields: dict[str, None] = {}
    for given in text.split(","):
        name = given.strip()
        if name == "*":
            fields.update(dict.fromkeys(kind.optional))
            continue
        field = field_aliases(kind.name).get(name, name)
        if field not in known_properties(kind.name):
            raise _unknown(kind, name[:_MOST_SHOWN])
        if withheld:
            withheld.refuse_field(field, "fields")
        if field in kind.optional:
            fields[field] = None
    return tuple(fields)


def asks_for_change(text: str | None) -> bool:
    """Whether the `fields` of a single read ask for what the last version has changed."""
    return text is not None and "changeDescription" in map(str.strip, text.split(","))


def field_names(kind: EntityKind) -> list[str]:
    """Every name that `fields` accepts for a kind, but for `*`."""
    return sorted(known_properties(kind.name).union(field_aliases(kind.name)))


def _unknown(kind: EntityKind, name: str) -> InvalidInput:
    """The refusal of a field that the kind does not have."""
    if near := get_close_matches(name, field_names(kind)):
        return InvalidInput(f"fields: Invalid field name {name}: did you mean {', '.join(near)}?")
    allowed = ", ".join((*kind.optional, *field_aliases(kind.name)))
    return InvalidInput(f"fields: Invalid field name {name}; allowed are {allowed}")
