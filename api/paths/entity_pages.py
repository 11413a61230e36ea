"""The addresses of the pages of entities, which answers to programs name too."""

from urllib.parse import quote

_READABLE = ".:@!$'()*,;=~"
"""Characters of a name that may stand in a path as they are; a slash would end a segment."""


def entity_address(kind: str, fqn: str, view: str = "entity") -> str:
    """The page of an entity, or another view of it: `/entity/table/shop.orders`."""
    return f"/{view}/{kind}/{quote(fqn, safe=_READABLE)}"
