"""Boxes of a picture: many entities become groups by schema or service, which unfold."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from api.pages.lineage.boxes import MOST_ALONE, MOST_BOXES, MOST_OF_LAYER, Box, Sort, boxes_of
from projections.entities.lineage import Node

LAYERED = st.lists(
    st.tuples(st.integers(-2, 2), st.integers(0, 3), st.integers(0, 3), st.integers(0, 400)),
    max_size=300,
    unique=True,
)
"""The layer of each entity, and the numbers of its service, its schema and itself."""


def node(*parts: object) -> Node:
    fqn = ".".join(map(str, parts))
    return Node("table", fqn, str(parts[-1]), fqn)


def placed(given: list[tuple[int, int, int, int]]) -> tuple[list[Node], dict[str, int]]:
    """Entities, and the layer of each."""
    layers = {
        node(f"s{service}", "db", f"c{schema}", f"t{layer}_{number}").id: layer
        for layer, service, schema, number in given
    }
    return [node(*each.split(".")) for each in layers], layers


def named(boxes: list[Box]) -> list[tuple[str, str, int]]:
    return [(box.sort, box.name, len(box.members)) for box in boxes]


@given(LAYERED, st.sampled_from(["", "s1", "s1.db.c2", "x"]), st.sampled_from(["", "s1.db", "s2"]))
def test_each_entity_is_in_one_box_of_its_layer(
    given: list[tuple[int, int, int, int]], opened: str, after: str
) -> None:
    nodes, layers = placed(given)

    boxes, left_out = boxes_of(nodes, layers, opened, after)

    members = Counter(each.id for box in boxes for each in box.members)
    assert set(members.values()) <= {1}
    assert len(members) + left_out == len(nodes)
    assert all(layers[each.id] == box.layer for box in boxes for each in box.members)
    assert len({box.key for box in boxes}) == len(boxes) <= MOST_BOXES
    of_layer = Counter(box.layer for box in boxes)
    assert all(count <= MOST_OF_LAYER + 2 for count in of_layer.values())
    assert boxes_of(nodes[::-1], layers, opened, after) == (boxes, left_out)


def test_few_entities_have_boxes_of_their_own() -> None:
    nodes, layers = placed([(1, 0, 0, number) for number in range(MOST_ALONE)])

    boxes, _ = boxes_of(nodes, layers, "", "")

    assert {box.sort for box in boxes} == {Sort.ENTITY}
    assert len(boxes) == MOST_ALONE


def test_many_are_grouped_by_schema_and_one_alone_in_its_schema_is_itself() -> None:
    given = [(1, 0, number % 3, number) for number in range(60)]
    nodes, layers = placed([*given, (1, 1, 0, 0), (-1, 0, 0, 7)])

    boxes, _ = boxes_of(nodes, layers, "", "")

    assert named(boxes) == [
        (Sort.ENTITY, "s0.db.c0.t-1_7", 1),
        *((Sort.GROUP, f"s0.db.c{number}", 20) for number in range(3)),
        (Sort.ENTITY, "s1.db.c0.t1_0", 1),
    ]


def test_a_schema_is_unfolded_to_its_entities_and_large_layers_are_turned() -> None:
    nodes, layers = placed([(1, 0, number % 2, number) for number in range(200)])

    boxes, _ = boxes_of(nodes, layers, "s0.db.c1", "")
    assert named(boxes)[0] == (Sort.GROUP, "s0.db.c0", 100)
    assert named(boxes)[-1] == (Sort.LATER, boxes[-2].name, 100 - MOST_OF_LAYER + 1)
    seen = [box.name for box in boxes if box.sort is Sort.ENTITY]
    while boxes[-1].sort is Sort.LATER:
        boxes, _ = boxes_of(nodes, layers, "s0.db.c1", boxes[-1].name)
        assert boxes[0].sort is Sort.EARLIER
        seen += [box.name for box in boxes if box.sort is Sort.ENTITY]
    assert len(seen) == len({*seen}) == 100

    while boxes[0].sort is Sort.EARLIER:
        boxes, _ = boxes_of(nodes, layers, "s0.db.c1", boxes[0].name)
    assert boxes[0].name == "s0.db.c0"


def test_many_schemas_are_grouped_by_service_which_unfolds_to_schemas() -> None:
    nodes = [
        node(f"s{service}", "db", f"c{schema}", f"t{number}")
        for service in range(3)
        for schema in range(20)
        for number in range(2)
    ]
    nodes += [node("s1", "topic"), node("metric")]
    layers = dict.fromkeys((each.id for each in nodes), 1)

    def shown(opened: str) -> list[tuple[str, str, int]]:
        return named(boxes_of(nodes, layers, opened, "")[0])

    alone = (Sort.ENTITY, "metric", 1)
    services = [(Sort.GROUP, f"s{number}", 40 + (number == 1)) for number in range(3)]
    assert shown("") == [alone, *services]
    assert shown("s1.db.c3")[:2] == [alone, services[0]]
    by_schema = {name: (sort, count) for sort, name, count in shown("s1")}
    assert by_schema["s1.db.c3"] == (Sort.GROUP, 2)
    assert by_schema["s1.topic"] == (Sort.ENTITY, 1)
    by_table = {name: sort for sort, name, _ in shown("s1.db.c3")}
    assert by_table["s1.db.c3.t0"] is by_table["s1.db.c3.t1"] is Sort.ENTITY
    assert by_table["s1.db.c4"] is Sort.GROUP
    assert by_table["s2"] is Sort.GROUP


def test_what_is_further_away_is_left_out_first() -> None:
    nodes = [node("s", "db", f"c{layer}", f"t{layer}") for layer in range(-400, 401)]
    layers = {each.id: int(each.name[1:]) for each in nodes}

    boxes, left_out = boxes_of(nodes, layers, "", "")

    assert len(boxes) == MOST_BOXES
    assert left_out == 801 - MOST_BOXES
    assert {abs(box.layer) for box in boxes} == {*range(MOST_BOXES // 2 + 1)}
