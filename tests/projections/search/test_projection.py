"""The search projection: states in, documents and checkpoint out."""

from msgspec.structs import replace

from projections.feeding.port import Folded
from projections.search.analysis import tokens
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


def test_projection_analyses_only_what_a_change_of_a_wide_entity_brings(
    catalog, entity, monkeypatch
):
    analysed = []

    def noted_tokens(text, prose=False):
        analysed.append(text)
        return tokens(text, prose)

    monkeypatch.setattr("projections.search.index.build.vocabulary.tokens", noted_tokens)
    columns = [{"name": f"column{n}", "description": f"text {n}"} for n in range(500)]
    projection = SearchProjection(catalog.engine)
    before, after = None, (0, "")
    for position in range(1, 6):
        columns[position]["description"] = f"change {position}"
        state = Folded(entity("wide", columns=columns), position, before=before)
        analysed.clear()
        projection.apply({state.entity.id: state}, position, "", after=after)
        if before is None:
            assert len(analysed) > 1_000
        else:
            assert set(analysed) == {f"change {position}"}
        before, after = state, (position, "")
