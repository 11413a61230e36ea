"""The search projection: states in, documents and checkpoint out."""

from msgspec.structs import replace

from projections.port import Folded
from projections.search.projection import SearchProjection


def test_projection_indexes_and_removes(catalog, entity):
    projection = SearchProjection(catalog.engine)
    one, two = entity("one"), entity("two")
    projection.apply({e.id: Folded(e, n) for n, e in enumerate((one, two), 1)}, 2)
    assert projection.name == "search"
    assert (projection.checkpoint(), catalog.engine.count()) == (2, 2)
    purged = {one.id: Folded(replace(one, purged=True), 3)}
    projection.apply(purged, 3)
    projection.apply(purged, 3)
    assert (projection.checkpoint(), catalog.engine.count()) == (3, 1)
    projection.reset()
    assert (projection.checkpoint(), catalog.engine.count()) == (0, 0)
