"""Layered pictures: boxes never overlap, arrows lead to the right, nothing is left to chance."""

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from api.pages.lineage.layers import Arrow, layers_of
from api.pages.lineage.layout import ACROSS, BETWEEN, WIDTH, Layout, laid_out

NAMES = [f"n{number}" for number in range(14)]
ARROWS = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=40)
HEIGHTS = st.lists(st.floats(10, 200), min_size=len(NAMES), max_size=len(NAMES))
"""Pixels."""
NEAR = [("n1", "n2"), ("n0", "n3"), ("n3", "n4"), ("n0", "n1")]


def acyclic(arrows: list[Arrow]) -> list[Arrow]:
    """The same arrows without those that close a circle: all lead to higher numbers."""
    return [(a, b) for a, b in arrows if int(a[1:]) < int(b[1:])]


def drawn(root: str, arrows: list[Arrow], heights: list[float]) -> tuple[dict[str, int], Layout]:
    layers = layers_of(root, arrows)
    sizes = dict(zip(NAMES, heights, strict=True))
    there = [arrow for arrow in arrows if arrow[0] in layers and arrow[1] in layers]
    return layers, laid_out(layers, {box: sizes[box] for box in layers}, there)


@given(st.sampled_from(NAMES), ARROWS.map(acyclic))
def test_arrows_without_circles_lead_to_a_higher_layer(root: str, arrows: list[Arrow]) -> None:
    layers = layers_of(root, arrows)

    assert layers[root] == 0
    assert all(layers[a] < layers[b] for a, b in arrows if a in layers and b in layers)
    for node, layer in layers.items():
        if layer > 0:
            assert layer == 1 + max(layers[a] for a, b in arrows if b == node and a in layers)
        if layer < 0:
            assert layer == min(layers[b] for a, b in arrows if a == node and b in layers) - 1


@given(st.sampled_from(NAMES), ARROWS)
def test_layers_have_all_that_ways_lead_to_and_no_more(root: str, arrows: list[Arrow]) -> None:
    layers = layers_of(root, arrows)

    for turned in (False, True):
        reached, following = {root}, {root}
        while following:
            following = {
                b
                for a, b in (arrow[::-1] if turned else arrow for arrow in arrows)
                if a in following and b not in reached
            }
            reached |= following
        assert reached <= layers.keys()
        if not turned:
            assert {node for node, layer in layers.items() if layer > 0} == reached - {root}


def test_one_arrow_of_a_circle_leads_back() -> None:
    layers = layers_of("a", [("a", "b"), ("b", "c"), ("c", "a"), ("b", "b")])

    assert layers == {"a": 0, "b": 1, "c": 2}


@pytest.mark.parametrize("turned", [False, True])
def test_a_chain_longer_than_any_stack_has_a_layer_for_each(turned: bool) -> None:
    chain = [*pairwise(map(str, range(5_000)))]
    arrows = [(b, a) for a, b in chain] if turned else chain

    layers = layers_of("0", arrows)

    assert layers["4999"] == (-4_999 if turned else 4_999)


@given(st.sampled_from(NAMES), ARROWS, HEIGHTS)
# Two boxes that want to stand a few pixels too near to one another.
@example("n0", NEAR, [14.0, 14.0, 20.0, 14.0, 44.0, *[14.0] * 9])
def test_boxes_do_not_overlap(root: str, arrows: list[Arrow], heights: list[float]) -> None:
    layers, layout = drawn(root, arrows, heights)

    assert layout.places.keys() == layers.keys()
    for box, place in layout.places.items():
        assert 0 <= place.x <= layout.width - place.width
        assert place.y >= -0.1
        assert place.y + place.height <= layout.height
        for other, beside in layout.places.items():
            if other != box and layers[other] == layers[box]:
                apart = max(place.y - beside.y - beside.height, beside.y - place.y - place.height)
                assert apart >= BETWEEN - 0.2
            if layers[other] > layers[box]:
                assert beside.x >= place.x + WIDTH + ACROSS


@given(st.sampled_from(NAMES), ARROWS.map(acyclic), HEIGHTS)
def test_arrows_lead_from_left_to_right_and_pass_no_box(
    root: str, arrows: list[Arrow], heights: list[float]
) -> None:
    _, layout = drawn(root, arrows, heights)

    for (beginning, end), way in layout.ways.items():
        there = layout.places[beginning]
        assert way[0] == (there.x + WIDTH, there.middle)
        assert way[-1] == (layout.places[end].x, layout.places[end].middle)
        assert [x for x, _ in way] == sorted({x for x, _ in way})
        for x, y in way[1:-1]:
            for place in layout.places.values():
                assert not (
                    place.x <= x <= place.x + WIDTH and place.y < y < place.y + place.height
                )


@given(st.sampled_from(NAMES), ARROWS, HEIGHTS)
def test_the_same_is_drawn_in_the_same_way(
    root: str, arrows: list[Arrow], heights: list[float]
) -> None:
    assert drawn(root, arrows, heights) == drawn(root, [*arrows, *arrows], heights)


def test_neighbours_stand_beside_one_another_without_crossings() -> None:
    arrows = [("n0", "n1"), ("n0", "n2"), ("n1", "n4"), ("n2", "n3"), ("n0", "n3")]

    _, layout = drawn("n0", arrows, [40.0] * len(NAMES))
    middles = {box: place.middle for box, place in layout.places.items()}

    assert (middles["n1"] < middles["n2"]) is (middles["n4"] < middles["n3"])
    assert abs(middles["n1"] - middles["n4"]) < abs(middles["n1"] - middles["n3"])
