"""The facets of a search: which aggregations it has, what narrows each, and what may be asked.

A facet counts what the query and its filter match. People narrow a page facet by facet with the
`postFilter`. Each facet leaves out the conditions on its own field, so that people who have chosen
one value still see what another one would give.
"""

from collections.abc import Iterator, Mapping, Sequence

from domain.errors import InvalidInput
from projections.search import tree
from projections.search.aggregations import Aggregation, Terms, TopHits, Values, every
from projections.search.engine import Facet
from projections.search.language.field_types import FieldType, is_prose, is_whole
from projections.search.language.field_values import known_type
from projections.search.restriction import Hidden
from projections.search.tree import Node
from projections.visibility.field_paths import indexed_path

_SHOWN = 80
_PREFIXES = {"tier.tagFQN": "Tier."}
"""Paths that stand for some of the values of another path -> what these begin with."""
_VALUES: Mapping[FieldType, Values] = {
    "number": "numbers",
    "moment": "moments",
    "boolean": "booleans",
}
DEFAULT_SIZE = 50
"""Buckets of a facet that nobody has asked for by name."""
DEFAULT_FIELDS = (
    "serviceType",
    "service.displayName.keyword",
    "entityType",
    "entityType.keyword",
    "tier.tagFQN",
    "owners.displayName.keyword",
    "domains.displayName.keyword",
    "tags.tagFQN",
    "certification.tagLabel.tagFQN",
    "database.name.keyword",
    "databaseSchema.name.keyword",
    "database.displayName",
    "databaseSchema.displayName",
)
"""The facets that OpenMetadata's pages show, of which the catalog keeps values."""


def default_aggregations(hidden: Hidden) -> tuple[Aggregation, ...]:
    """A facet for each of DEFAULT_FIELDS that is not withheld."""
    return tuple(terms(field, DEFAULT_SIZE) for field in DEFAULT_FIELDS if not hidden.hides(field))


def terms(field: str, size: int, name: str | None = None, *, written: bool = False) -> Terms:
    """The largest buckets of a field, named as the field unless a name is given.

    With `written` the keys are as documents write them: see `Terms`. Among values of fields that
    organisations define, only texts are counted. Raises InvalidInput for a field that no kind has,
    or of which the index keeps no values: objects, prose and ids.
    """
    known = known_type(field)
    path = indexed_path(field)
    if known == "object":
        raise InvalidInput(f"{field[:_SHOWN]} holds objects: name a field of theirs")
    if is_prose(path):
        raise InvalidInput(f"{field[:_SHOWN]} is prose, of which no whole values are kept")
    if is_whole(path):
        raise InvalidInput(f"{field[:_SHOWN]} is only matched whole, and its values are not kept")
    return Terms(
        name=name or field,
        field=field,
        values=_VALUES.get(known, "texts"),
        size=size,
        prefix=_PREFIXES.get(_counted_path(field), ""),
        written=written,
    )


def _counted_path(field: str) -> str:
    """Return one text for all spellings of a field that stand for the same values."""
    plain = field.removesuffix(".keyword")
    return plain if plain in _PREFIXES else indexed_path(field)


def refuse_withheld(
    aggregations: Sequence[Aggregation], hidden: Hidden, field: str, sources: str
) -> None:
    """Raise FieldWithheld for aggregations by, ordered by, or showing what is withheld.

    `field` and `sources` are the parameters that name fields to aggregate by, and to show.
    """
    for aggregation in aggregations:
        for each in every(aggregation):
            if not isinstance(each, TopHits):
                hidden.refuse(each.field, field)
                continue
            if each.sort_field is not None:
                hidden.refuse(each.sort_field, field)
            for path in each.include:
                hidden.refuse(path, sources, below_only=True)


def facets(
    aggregations: Sequence[Aggregation], post_filter: Node | None, *, own_too: bool = False
) -> tuple[Facet, ...]:
    """Narrow each aggregation by the conditions of a filter that are not about its own field.

    Top hits, which have no field, are narrowed by all of the filter; with `own_too`, all facets
    are.
    """
    if own_too or post_filter is None:
        return tuple(Facet(aggregation, post_filter) for aggregation in aggregations)
    conditions = tuple(_conditions(post_filter))
    return tuple(Facet(each, _others(conditions, each)) for each in aggregations)


def _others(conditions: Sequence[Node], aggregation: Aggregation) -> Node | None:
    """Join the conditions, without those that are only about the field of an aggregation."""
    if isinstance(aggregation, TopHits):
        return tree.all_of(conditions)
    own = {_counted_path(aggregation.field)}
    others = [condition for condition in conditions if set(_paths(condition)) != own]
    return tree.all_of(others) if others else None


def _conditions(node: Node) -> Iterator[Node]:
    """Split a node into conditions that must all match."""
    if isinstance(node, tree.Bool) and not node.should and not node.required:
        for inner in (*node.must, *node.filter):
            yield from _conditions(inner)
        for inner in node.must_not:
            yield tree.Bool(must_not=(inner,))
    elif isinstance(node, tree.Constant | tree.Boosted):
        yield from _conditions(node.node)
    else:
        yield node


def _paths(node: Node) -> Iterator[str | None]:
    """The fields that a node and those inside it are about; None for the default fields."""
    for field in tree.named_fields(node):
        yield None if field is None else _counted_path(field)
    for inner in tree.children(node):
        yield from _paths(inner)
