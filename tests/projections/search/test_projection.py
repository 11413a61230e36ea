"""The search projection: states in, documents and checkpoint out."""

from msgspec.structs import replace

from projections.feeding.port import Folded
from projections.search.projection import SearchProjection


def test_projection_indexes_and_removes(catalog, entity):
    projection = SearchProjection(catalog.engine)
    one, two = entity("one"), entity("two")
    both = {e.id: Folded(e, n) for n, e in enumerate((one, two), 1)}
    projection.apply(both, 2, "second", after=(0, ""))
    assert projection.name == "search"
    assert (projection.checkpoint_and_fingerprint(), catalog.engine.count()) == ((2, "second"), 2)
    purged = {one.id: Folded(replace(one, purged=True), 3)}
    projection.apply(purged, 3, "third", after=(2, "second"))
    projection.apply(purged, 3, "third", after=(3, "third"))
    assert (projection.checkpoint_and_fingerprint(), catalog.engine.count()) == ((3, "third"), 1)
