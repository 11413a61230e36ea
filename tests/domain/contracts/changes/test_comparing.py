"""Every rule by its pairs, with the verdicts of datacontract-cli, and laws of the comparison."""

import json
import os
import subprocess
import tracemalloc
from collections import Counter
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.contracts.changes.comparing import Terms, compare
from domain.contracts.changes.rules import RULES, Change, Level, Perspective
from tests.domain.contracts.changes import cli_verdicts_script
from tests.domain.contracts.changes.pairs import Pair, read_pairs, terms
from tests.domain.contracts.documents import documents

COMMAND = os.environ.get("DATACONTRACT_COMMAND", "")
LEVELS = {Level.COMPATIBLE: "info", Level.REVIEW: "warning", Level.BREAKING: "error"}
PAIRS = read_pairs()
OPPOSITES = (
    *(("removed", "added"), ("widened", "narrowed"), ("loosened", "tightened")),
    *(("lowered", "raised"), ("weaker", "stronger"), ("ended", "revived")),
    *(("earlier", "later"), ("set", "withdrawn")),
)
BACK = {each: other for pair in OPPOSITES for each, other in (pair, pair[::-1])}
"""Last part of a rule's word -> that of the rule of the change back, where it is another rule."""
_texts = st.sampled_from(["", "a", "B", "1", "varchar(3)", "2020-01-01", "é.\n", "active", "P1D"])
_numbers = st.integers(-3, 3) | st.sampled_from([0.5, 2**70, 10**900])
_scalars = st.none() | st.booleans() | _numbers | _texts

_keys = st.sampled_from(
    (
        *("name", "type", "value", "unit", "element", "property", "metric", "mustBe"),
        *("mustBeBetween", "enum", "items", "map", "key", "id", "quality", "relationships"),
        *("properties", "logicalType", "physicalType", "logicalTypeOptions", "minimum", "server"),
        *("required", "primaryKey", "role", "semantics", "enabled", "from", "to", "severity"),
        *("arguments", "validValues", "own"),
    )
)
_anything = st.recursive(
    _scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_keys, inner, max_size=4)
)
_root_keys = st.sampled_from(
    ["schema", "slaProperties", "servers", "roles", "status", "description", "version", "own"]
)
_roots = st.dictionaries(_root_keys, _anything, max_size=4)


def words(changes: list[Change]) -> Counter[str]:
    return Counter(change.rule.word for change in changes)


def mirrored(changes: list[Change]) -> Counter[str]:
    """The words of the changes back."""
    parts = (change.rule.word.rpartition(".") for change in changes)
    return Counter(f"{of}{dot}{BACK.get(what, what)}" for of, dot, what in parts)


def verdict(changes: list[Change]) -> dict[str, str]:
    """The worst level in each view, in the words of datacontract-cli."""
    return {
        each.value: max(
            (LEVELS[change.rule.level(each)] for change in changes),
            key=[*LEVELS.values()].index,
            default="info",
        )
        for each in (Perspective.CONSUMER, Perspective.PRODUCER)
    }


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_a_pair_has_the_changes_that_are_written_beside_it(pair: Pair) -> None:
    before, after = terms(pair.before), terms(pair.after)

    changes = compare(before, after)

    assert [(change.rule.word, change.path) for change in changes] == pair.changes
    assert compare(before, before) == compare(after, after) == []
    assert words(compare(after, before)) == mirrored(changes)
    if pair.cli is not None:
        ours = verdict(changes)
        differs = ours != {"consumer": pair.cli.consumer, "producer": pair.cli.producer}
        assert differs == bool(pair.cli.reason), ours


def test_every_rule_has_a_pair() -> None:
    assert {word for pair in PAIRS for word, _ in pair.changes} == set(RULES)
    assert len(PAIRS) >= 100


@pytest.mark.parametrize(
    "pair",
    [pair for pair in PAIRS if pair.cli and "as texts" in pair.cli.reason],
    ids=lambda pair: pair.name,
)
def test_exact_types_give_the_verdict_of_the_cli(pair: Pair) -> None:
    assert pair.cli is not None
    changes = compare(terms(pair.before), terms(pair.after), exact=True)

    assert verdict(changes) == {"consumer": pair.cli.consumer, "producer": pair.cli.producer}


@pytest.mark.skipif(not COMMAND, reason="DATACONTRACT_COMMAND does not name datacontract")
def test_the_cli_gives_the_verdicts_that_are_written_beside_the_pairs() -> None:
    pairs = [pair for pair in PAIRS if pair.cli is not None]
    lines = [
        json.dumps([terms(side).document for side in (pair.before, pair.after)]) for pair in pairs
    ]
    done = subprocess.run(
        [Path(COMMAND).with_name("python"), "-c", cli_verdicts_script.TEXT],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        check=True,
    )
    said = [json.loads(line) for line in done.stdout.splitlines()]

    assert said == [
        {"consumer": pair.cli.consumer, "producer": pair.cli.producer}
        for pair in pairs
        if pair.cli is not None
    ]


@given(_roots, _roots)
def test_any_two_mappings_are_compared_and_mirror(old: dict[str, Any], new: dict[str, Any]) -> None:
    before, after = (Terms(each, {"semantics": each.get("own")}) for each in (old, new))

    assert compare(before, deepcopy(before)) == []
    assert words(compare(after, before)) == mirrored(compare(before, after))


@given(documents, documents)
def test_any_two_documents_are_compared_and_mirror(
    old: dict[str, Any], new: dict[str, Any]
) -> None:
    before, after = Terms(old), Terms(new)

    assert compare(before, deepcopy(before)) == []
    assert words(compare(after, before)) == mirrored(compare(before, after))


@given(st.lists(st.sampled_from(PAIRS), min_size=1, max_size=6), st.booleans())
def test_several_changes_mirror(pairs: list[Pair], exact: bool) -> None:
    sides: list[dict[str, Any]] = [{}, {}]
    for pair in pairs:
        for side, fragment in zip(sides, (pair.before, pair.after), strict=True):
            for part, values in deepcopy(fragment).items():
                side.setdefault(part, {}).update(values)
    before, after = map(terms, sides)

    assert words(compare(after, before, exact=exact)) == mirrored(
        compare(before, after, exact=exact)
    )


def test_an_unknown_version_is_no_change_whatever_it_is() -> None:
    assert compare(Terms({"version": "1"}), Terms({"version": ["2", {"a": None}]})) == []


def test_deep_documents_are_compared() -> None:
    sides = []
    for leaf in ("INT", "DATE"):
        column: dict[str, Any] = {"name": "a", "physicalType": leaf}
        for _ in range(60):
            column = {"name": "a", "logicalType": "object", "properties": [column]}
        sides.append(Terms({"schema": [{"name": "o", "properties": [column]}]}))

    (change,) = compare(*sides)

    assert change.rule.word == "type.changed"
    assert change.path == "schema.o" + ".properties.a" * 61 + ".physicalType"


def test_large_values_are_cut() -> None:
    (change,) = compare(Terms({"own": "x" * 10_000}), Terms({"own": ["é", 2**70, None]}))

    assert change.before == "x" * 300 + "…"
    assert change.after == '["é", 1180591620717411303424, null]'


def rules_of(*quality: dict[str, Any]) -> Terms:
    return Terms({"schema": [{"name": "o", "quality": [*quality]}]})


def test_arguments_of_a_rule_with_two_limits_are_compared() -> None:
    limits = {"metric": "invalidValues", "mustBeGreaterThan": 0, "mustBeLessThan": 10}
    before, after = (rules_of({**limits, "arguments": {"validValues": [x]}}) for x in "ab")

    assert words(compare(before, after)) == {"quality.reworded": 1}


@pytest.mark.parametrize("nothing", [[], {}, None])
def test_a_limit_that_says_nothing_is_none(nothing: Any) -> None:
    before = rules_of({"metric": "rowCount", "mustBe": 1, "mustBeBetween": nothing})
    after = rules_of({"metric": "rowCount", "mustBe": 1})

    assert compare(before, after) == []


def test_long_names_are_cut_and_not_repeated_for_each_change() -> None:
    keys = {f"key{place}": place for place in range(5_000)}
    before, after = (
        Terms(
            {"schema": [{"name": "n" * 1_000_000, "properties": [{"name": "m" * 5_000, **more}]}]}
        )
        for more in ({}, keys)
    )
    tracemalloc.start()
    changes = compare(before, after)
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert used < 20_000_000
    name, column = "n" * 300 + "…", "m" * 300 + "…"
    assert changes[0].path == f"schema.{name}.properties.{column}.key0"
    assert all(len(change.message) < 2_500 for change in changes)


def test_a_path_of_many_long_names_is_cut() -> None:
    sides = []
    for leaf in ("INT", "DATE"):
        column: dict[str, Any] = {"name": "a", "physicalType": leaf}
        for _ in range(60):
            column = {"name": "n" * 200, "properties": [column]}
        sides.append(Terms({"schema": [column]}))

    (change,) = compare(*sides)

    assert change.path == f"schema.{'.properties.'.join(['n' * 200] * 5)}"[:1_000] + "…"


@pytest.mark.parametrize("before", [("a", "a[1]"), ("a", "a", "a[1]"), ("a[1]", "a", "a")])
def test_the_place_of_a_name_that_comes_again_hides_no_other_name(before: tuple[str, ...]) -> None:
    def columns(names: tuple[str, ...], type_: str) -> Terms:
        types = {"a": "date", "a[1]": type_}
        held = [{"name": name, "logicalType": types[name]} for name in names]
        return Terms({"schema": [{"name": "o", "properties": held}]})

    for after in (("a", "a", "a[1]"), ("a[1]", "a", "a")):
        changes = compare(columns(before, "integer"), columns(after, "string"))
        assert words(changes)["type.changed"] == 1, changes
