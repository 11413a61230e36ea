"""The path of a column through edges that name columns: upstream, downstream, and no further."""

from hypothesis import given
from hypothesis import strategies as st

from api.pages.lineage.column_path import NO_PATH, columns_of, path_of
from domain.impact import Flow, Reach, impact_of

FLOWS = [
    Flow("a", "b", [(["a.x", "a.y"], "b.sum"), (["a.z"], "b.z")]),
    Flow("b", "c", [(["b.sum"], "c.total"), (["b.z"], "c.z")]),
    Flow("b", "d", [(["b.z"], "d.z")]),
    Flow("a", "c"),
    Flow("e", "c", [(["e.q"], "c.total")]),
]
_END, _COLUMN = st.sampled_from("abcd"), st.sampled_from("xy")
EDGES = st.lists(st.tuples(_END, _END, _COLUMN, _COLUMN), max_size=12)


def test_path_leads_up_and_down_over_the_edges_that_name_it() -> None:
    path = path_of("b.sum", FLOWS, {})

    assert {key: [*columns] for key, columns in path.columns.items()} == {
        "b": ["b.sum"],
        "a": ["a.x", "a.y"],
        "c": ["c.total"],
    }
    assert path.arrows == {("a", "b"), ("b", "c")}


def test_path_does_not_turn_around() -> None:
    path = path_of("a.x", FLOWS, {})

    assert path.columns.keys() == {"a", "b", "c"}
    assert path.columns["a"] == {"a.x": None}
    assert path.arrows == {("a", "b"), ("b", "c")}


def test_path_leads_through_what_columns_lie_in() -> None:
    flows = [Flow("t", "u", [(["t.address.zip"], "u.zip")]), Flow("u", "v", [(["u.zip"], "v.all")])]

    assert path_of("v.all", flows, {}).arrows == {("t", "u"), ("u", "v")}
    assert path_of("t.address.zip", flows, {}).arrows == {("t", "u"), ("u", "v")}
    nested = [Flow("s", "t", [(["s.address"], "t.address")]), *flows]
    assert path_of("s.address", nested, {}).arrows == {("s", "t"), ("t", "u"), ("u", "v")}


def test_column_of_which_edges_name_the_inner_ones_lights_their_path() -> None:
    flows = [Flow("t", "u", [(["t.address.zip"], "u.zip"), (["t.total"], "u.total")])]

    path = path_of("t.address", flows, {"t": "t", "u": "u"})

    assert path.columns == {"t": {"t.address": None}, "u": {"u.zip": None}}
    assert path.arrows == {("t", "u")}
    assert path_of("t.status", flows, {"t": "t", "u": "u"}) == NO_PATH


def test_column_that_no_edge_names_lights_nothing() -> None:
    assert path_of("a.unknown", FLOWS, {}) == NO_PATH


def test_columns_of_an_entity_are_those_that_edges_name() -> None:
    assert [*columns_of("b", FLOWS)] == ["b.sum", "b.z"]
    assert [*columns_of("e", FLOWS)] == ["e.q"]


@given(EDGES, st.sampled_from("abcd"), st.sampled_from("xy"))
def test_what_is_lit_downstream_is_what_a_change_of_the_column_breaks(
    edges: list[tuple[str, str, str, str]], holder: str, name: str
) -> None:
    flows = [Flow(a, b, [([f"{a}.{x}"], f"{b}.{y}")]) for a, b, x, y in edges if a < b]
    column = f"{holder}.{name}"

    path = path_of(column, flows, {})

    hits = impact_of(holder, [column], {Reach.COLUMNS}, flows)
    below = {key: [*columns] for key, columns in path.columns.items() if key > holder}
    assert below == {key: [*hit.columns] for key, hit in hits.items() if hit.columns}
    ends = {end for arrow in path.arrows for end in arrow}
    assert ends == path.columns.keys()
