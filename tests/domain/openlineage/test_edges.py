"""The edges that events mean."""

import json
from typing import Any

import pytest

from domain.openlineage.edges import SaidEdge, edges_of
from domain.openlineage.events import digest_of, read_event
from domain.openlineage.facets import MOST_BYTES, Told
from domain.openlineage.reading import statement_of
from domain.openlineage.statements import Statement

NOW = 1_800_000_000_000


def dataset(name: str, **facets: Any) -> dict[str, Any]:
    return {"namespace": "n", "name": name, "facets": facets}


def column(name: str, field: str, *kinds: str) -> dict[str, Any]:
    steps = [{"type": kind, "subtype": "IDENTITY"} for kind in kinds]
    return {"namespace": "n", "name": name, "field": field, "transformations": steps}


def said(inputs: list[Any], outputs: list[Any], **facets: Any) -> Statement:
    event = {
        "eventTime": "2026-11-23T07:00:00Z",
        "eventType": "COMPLETE",
        "run": {"runId": "r", "facets": facets.pop("run", {})},
        "job": {"namespace": "j", "name": "job", "facets": facets},
        "inputs": inputs,
        "outputs": outputs,
    }
    return statement_of(read_event(json.dumps(event).encode()), NOW)


def drawn(statement: Statement) -> dict[str, Any]:
    """`source > target` -> its mappings as text."""
    edges: list[SaidEdge] = edges_of(statement.lineage, Told())
    return {
        f"{each.source.name} > {each.target.name}": None
        if each.mappings is None
        else [f"{','.join(one.from_columns)} > {one.to_column}" for one in each.mappings]
        for each in edges
    }


def test_inputs_times_outputs_without_more() -> None:
    statement = said([dataset("a"), dataset("b")], [dataset("x"), dataset("y"), dataset("a")])
    assert drawn(statement) == {
        "a > x": None,
        "b > x": None,
        "a > y": None,
        "b > y": None,
        "b > a": None,
    }


def test_columns_tell_which_input_is_in_which_output() -> None:
    of_x = {"fields": {"k": {"inputFields": [column("a", "k"), column("a", "l")]}}}
    of_y = {"fields": {"k": {"inputFields": [column("b", "k")]}}}
    inputs = [dataset("a"), dataset("b"), dataset("c")]
    outputs = [dataset("x", columnLineage=of_x), dataset("y", columnLineage=of_y)]
    assert drawn(said(inputs, outputs)) == {
        "a > x": ["k,l > k"],
        "c > x": None,
        "b > y": ["k > k"],
        "c > y": None,
    }


def test_inputs_may_stand_in_columns_alone() -> None:
    facet = {"fields": {"k": {"inputFields": [column("a", "k")]}}}
    assert drawn(said([], [dataset("x", columnLineage=facet)])) == {"a > x": ["k > k"]}


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [((), ["k > k"]), (("DIRECT",), ["k > k"]), (("INDIRECT",), None),
     (("INDIRECT", "DIRECT"), ["k > k"])],
)  # fmt: skip
def test_filters_and_joins_make_no_column(kinds: tuple[str, ...], expected: Any) -> None:
    facet = {"fields": {"k": {"inputFields": [column("a", "k", *kinds)]}}}
    statement = said([dataset("a")], [dataset("x", columnLineage=facet)])
    assert drawn(statement) == {"a > x": expected}


@pytest.mark.parametrize("where", ["dataset", "job", "run"])
def test_explicit_lineage_counts_alone(where: str) -> None:
    source = {"namespace": "n", "name": "a", "type": "DATASET"}
    told = {"inputs": [source], "fields": {"k": {"inputs": [{**source, "field": "k"}]}}}
    entry = {"lineage": [{"namespace": "n", "name": "x", "type": "DATASET", **told}]}
    facets: dict[str, Any] = {"job": {"lineage": entry}, "run": {"run": {"lineage": entry}}}
    output = dataset("x", lineage=told) if where == "dataset" else dataset("x")
    output["facets"]["columnLineage"] = {"fields": {"k": {"inputFields": [column("b", "k")]}}}
    statement = said([dataset("b")], [output], **facets.get(where, {}))
    assert drawn(statement) == {"a > x": ["k > k"]}


def test_facet_that_is_deleted_says_nothing() -> None:
    facet = {"_deleted": True, "fields": {"k": {"inputFields": [column("a", "k")]}}}
    assert drawn(said([], [dataset("x", columnLineage=facet)])) == {}


@pytest.mark.parametrize(
    ("facets", "is_entity"),
    [
        ({}, True),
        ({"jobType": {"integration": "SPARK", "jobType": "RDD_JOB"}}, False),
        ({"jobType": {"integration": "SPARK", "jobType": "SQL_JOB"}}, True),
        ({"jobType": {"integration": "DBT", "jobType": "SQL"}}, False),
        ({"jobType": {"integration": "DBT", "jobType": "MODEL"}}, True),
    ],
)
def test_details_of_jobs_are_no_entities(facets: Any, is_entity: bool) -> None:
    assert said([dataset("a")], [dataset("x")], **facets).is_entity is is_entity


def test_task_is_the_node_of_dbt_or_the_name_below_the_root() -> None:
    root = {"job": {"namespace": "j", "name": "root"}, "run": {"runId": "t"}}
    own = {"job": {"namespace": "j", "name": "between"}, "run": {"runId": "b"}, "root": root}
    statement = said([], [], run={"parent": own})
    assert (statement.task, statement.root_run_id) == ("job", "t")
    node = {"unique_id": "model.shop.job"}
    assert said([], [], dbt_node=node, run={"parent": own}).task == "model.shop.job"
    assert said([], [], dbt_node=node).task is None


def test_digest_is_of_all_but_the_time() -> None:
    event = {
        "eventTime": "2026-11-23T07:00:00Z",
        "eventType": "COMPLETE",
        "run": {"runId": "r"},
        "job": {"namespace": "j", "name": "job"},
        "inputs": [dataset("a")],
    }

    def digest(**changed: Any) -> bytes:
        return digest_of(json.dumps({**event, **changed}).encode())

    assert digest() == digest(eventTime="2027-11-23T07:00:00Z", producer="x")
    others = [
        digest(eventType="FAIL"),
        digest(run={"runId": "s"}),
        digest(job={"namespace": "j", "name": "k"}),
        digest(inputs=[]),
        digest(inputs=[], outputs=[dataset("a")]),
    ]
    assert len({digest(), *others}) == 6


def test_part_of_a_facet_that_does_not_fit_is_left_out_alone() -> None:
    made = {"k": {"inputFields": [column("a", "k"), 17]}, "l": 5}
    statement = said([], [dataset("x", columnLineage={"fields": made})])
    assert drawn(statement) == {"a > x": ["k > k"]}
    (told,) = statement.told
    assert "facet columnLineage left out" in told


def test_facet_that_is_too_large_is_left_out() -> None:
    fields = [{"name": "k", "description": "x" * MOST_BYTES}]
    statement = said([dataset("a", schema={"fields": fields})], [dataset("x")])
    assert statement.texts == ()
    assert statement.told == (
        f"input 'a' of 'n': facet schema left out: it has over {MOST_BYTES:,} bytes",
    )
    assert drawn(statement) == {"a > x": None}
