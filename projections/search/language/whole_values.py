"""A field and a pattern for one of its whole values, as `GET /v1/search/fieldQuery` gives them."""

from domain.errors import InvalidInput
from projections.search import tree
from projections.search.language.field_texts import is_prose, is_whole
from projections.search.language.field_values import UnknownField, known_type, typed
from projections.search.language.patterns import wildcard
from projections.search.tree import Node
from projections.visibility.field_paths import indexed_path

_PATTERN = frozenset("*?\\")


def whole_value(field: str, pattern: str) -> Node:
    """The documents with a value in the field that fits the pattern from its beginning to its end.

    Letters count without case, `*` is any characters, `?` one, and a backslash takes the next one
    literally. Of prose, which keeps no whole values, a word fits. Raises InvalidInput that says
    which of the two parameters is wrong.
    """
    path = indexed_path(field)
    try:
        known = known_type(field)
        if known == "object":
            raise UnknownField(f"{field[:80]} holds objects: name a field of theirs")
    except UnknownField as error:
        raise InvalidInput(f"fieldName: {error.message}") from None
    if known in ("text", "undefined") and not is_prose(path) and not is_whole(path):
        path += ".keyword"
    try:
        if _PATTERN.isdisjoint(pattern):
            return typed(tree.Exact(path, pattern))
        wildcard(pattern)
        return typed(tree.Wildcard(path, pattern))
    except InvalidInput as error:
        raise InvalidInput(f"fieldValue: {error.message}") from None
