"""What events of one run say together, in any order and however often they come."""

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from domain.measurements.bounds import Bounds
from domain.measurements.opening import measurements_at
from domain.openlineage.keeping import Keeping
from domain.openlineage.runs import RunRecord, merge_runs
from domain.openlineage.statements import (
    DatasetName,
    JobName,
    Lineage,
    Output,
    State,
    Statement,
)
from tests.depth import examples

JOB = JobName("jobs", "job")
NAMES = [DatasetName("n", name) for name in "abc"]
LINEAGES = st.builds(
    Lineage,
    inputs=st.lists(st.sampled_from(NAMES), unique=True, max_size=2).map(tuple),
    outputs=st.lists(st.sampled_from(NAMES), unique=True, max_size=2).map(
        lambda names: tuple(Output(name) for name in names)
    ),
)


def statement(at: int, state: State, lineage: Lineage = Lineage()) -> Statement:  # noqa: B008
    return Statement(
        at=at, state=state, job=JOB, root=JOB, run_id="r", root_run_id="r", lineage=lineage
    )


EVENTS = st.lists(
    st.tuples(st.integers(0, 9), st.sampled_from(State), LINEAGES).map(lambda e: statement(*e)),
    min_size=1,
    max_size=6,
    unique_by=lambda each: each.at,
)


def said(record: RunRecord) -> tuple[object, ...]:
    lineage = record.lineage
    return (
        *(record.started, record.ended, record.state),
        {*lineage.inputs},
        {each.name for each in lineage.outputs},
    )


@given(events=EVENTS, data=st.data())
@settings(max_examples=examples(300), deadline=None)
def test_order_and_repetition_change_nothing(events: list[Statement], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations([*events, *events]))

    def merged(given: list[Statement]) -> RunRecord:
        record = RunRecord(shown_at=0)
        for each in given:
            record = record.with_event(each)
        return record

    assert said(merged(events)) == said(merged(shuffled))


def test_late_start_only_fills_in() -> None:
    record = RunRecord(shown_at=5).with_event(statement(5, State.FAIL))
    record = record.with_event(replace(statement(1, State.START), nominal="at one"))
    assert (record.state, record.started, record.ended) == (State.FAIL, 1, 5)
    assert record.nominal == "at one"


def test_run_that_is_too_large_is_remembered_without_datasets(tmp_path: Path) -> None:
    store = measurements_at(tmp_path, None, Bounds(days=30, most_bytes=10**9))
    keeping = Keeping(store)
    names = tuple(DatasetName("n" * 2_000, f"{number}") for number in range(600))
    large = statement(1, State.START, Lineage(inputs=names))
    merge_runs(keeping, [large])
    (known,) = merge_runs(keeping, [statement(2, State.COMPLETE)])
    assert known is not None
    assert (known.own.started, known.own.lineage) == (1, Lineage())
    store.close()
