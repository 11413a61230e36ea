"""The certainty with which a change hits what the lineage makes of an entity."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from domain.errors import InvalidInput
from domain.impact import Flow, Reach, Tier, columns_above, impact_of, with_parts
from domain.kinds import names

COLUMNS, ENTITY, PROMISE = Reach.COLUMNS, Reach.ENTITY, Reach.PROMISE


def tiers(*args: object) -> dict[str, tuple[str, int, list[str]]]:
    hits = impact_of(*args)  # type: ignore[arg-type]
    return {key: (hit.tier, hit.steps, [*hit.columns]) for key, hit in hits.items()}


FLOWS = [
    Flow("a", "b", [(["a.x", "a.y"], "b.sum"), (["a.z"], "b.z")]),
    Flow("a", "c", [(["a.z"], "c.z")]),
    Flow("a", "d"),
    Flow("b", "e", [(["b.sum"], "e.total")]),
    Flow("b", "f"),
    Flow("e", "g", [(["e.other"], "g.other")]),
]


def test_a_column_breaks_what_is_made_of_it_at_any_distance() -> None:
    assert tiers("a", ["a.x"], {COLUMNS}, FLOWS) == {
        "b": (Tier.BREAKS, 1, ["b.sum"]),
        "c": (Tier.LOOK_AGAIN, 1, []),
        "d": (Tier.MAY_BREAK, 1, []),
        "e": (Tier.BREAKS, 2, ["e.total"]),
        "f": (Tier.LOOK_AGAIN, 2, []),
        "g": (Tier.LOOK_AGAIN, 3, []),
    }


def test_an_entity_that_goes_breaks_all_that_is_made_directly_of_it() -> None:
    hits = tiers("a", [], {ENTITY}, FLOWS)

    assert {key: hit[0] for key, hit in hits.items()} == {
        "b": Tier.BREAKS,
        "c": Tier.BREAKS,
        "d": Tier.BREAKS,
        "e": Tier.BREAKS,
        "f": Tier.LOOK_AGAIN,
        "g": Tier.LOOK_AGAIN,
    }
    assert hits["b"][2] == ["b.sum", "b.z"]


def test_a_promise_about_all_data_may_break_what_is_made_directly_of_it() -> None:
    hits = tiers("a", [], {PROMISE}, FLOWS)

    assert {key for key, hit in hits.items() if hit[0] is Tier.MAY_BREAK} == {"b", "c", "d"}
    assert {hit[0] for key, hit in hits.items() if key in "efg"} == {Tier.LOOK_AGAIN}


def test_no_change_hits_nothing() -> None:
    assert tiers("a", [], set(), FLOWS) == {}


def test_nested_columns_are_hit_with_what_they_lie_in_and_with_what_lies_in_them() -> None:
    flows = [Flow("a", "b", [(["a.s.x"], "b.x"), (["a.t"], "b.t"), (["a.sx"], "b.sx")])]

    assert tiers("a", ["a.s"], {COLUMNS}, flows)["b"][2] == ["b.x"]
    assert tiers("a", ['a.t."i.n"'], {COLUMNS}, flows)["b"][2] == ["b.t"]
    assert tiers("a", ['a."broken'], {COLUMNS}, flows)["b"][0] is Tier.LOOK_AGAIN


_ids = st.sampled_from("abcdef")
_columns = st.builds("{}.{}".format, _ids, st.sampled_from("xy"))
_flows = st.builds(
    Flow, _ids, _ids, st.lists(st.tuples(st.lists(_columns, max_size=2), _columns), max_size=3)
)


@given(st.lists(_flows, max_size=12), st.sets(_columns, max_size=2))
def test_circles_end_and_more_columns_hit_no_less(flows: list[Flow], columns: set[str]) -> None:
    hits = impact_of("a", columns, {COLUMNS}, flows)
    more = impact_of("a", [*columns, "a.x"], {COLUMNS}, flows)

    assert "a" not in hits
    assert hits.keys() == more.keys()
    order = list(Tier)
    for key, hit in hits.items():
        assert hit.columns.keys() <= more[key].columns.keys()
        assert order.index(more[key].tier) <= order.index(hit.tier)


def test_mappings_of_a_column_are_followed_once_for_all_that_changes_in_it() -> None:
    looked_at = Counter[str]()

    class Counted(str):
        """The name of a column that is made of others."""

        def __hash__(self) -> int:
            looked_at[str(self)] += 1
            return super().__hash__()

    made = [Counted(f"b.m{place}") for place in range(5)]
    flows = [Flow("a", "b", [(["a.c"], name) for name in made])]
    hits = tiers("a", [f"a.c.k{place}" for place in range(100)], {COLUMNS}, flows)

    assert hits == {"b": (Tier.BREAKS, 1, [*made])}
    assert max(looked_at.values()) < 10


def test_parts_count_as_the_entity_and_are_not_hit() -> None:
    flows = [
        Flow("a", "b"),
        Flow("part", "b"),
        Flow("part", "a"),
        Flow("c", "part"),
        Flow("b", "c"),
    ]

    hits = impact_of("a", [], {ENTITY}, with_parts("a", {"part"}, flows))

    assert {key: (hit.tier, hit.steps) for key, hit in hits.items()} == {
        "b": (Tier.BREAKS, 1),
        "c": (Tier.LOOK_AGAIN, 2),
    }


@given(st.text('a.b"', max_size=9))
def test_names_above_are_those_of_fewer_parts_and_none_of_what_is_no_name(name: str) -> None:
    try:
        parts = names.split(name)
    except InvalidInput:
        parts = []

    assert [*columns_above(name)] == [
        names.join(parts[:end]) for end in range(len(parts) - 1, 0, -1)
    ]
