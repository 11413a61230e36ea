"""Results of runs of dbt as they are read."""

import pytest

from domain.dbt.run_results import read_run
from domain.errors import InvalidInput
from tests.domain.dbt.recorded import artifact, packed


def test_results_have_the_time_of_their_run() -> None:
    recorded = artifact("run_results")
    recorded["metadata"]["generated_at"] = "2026-11-27T06:39:01.5Z"

    run, results = read_run(packed(recorded))

    assert run.at == 1_795_761_541_500
    assert len([*results]) == len(recorded["results"])


@pytest.mark.parametrize("version", [4, 5, 6, 7])
def test_versions_from_four_on_are_read(version: int) -> None:
    recorded = artifact("run_results")
    address = f"https://schemas.getdbt.com/dbt/run-results/v{version}.json"
    recorded["metadata"]["dbt_schema_version"] = address

    assert [*read_run(packed(recorded))[1]]


def test_older_version_is_refused() -> None:
    recorded = artifact("run_results")
    recorded["metadata"]["dbt_schema_version"] = "x/run-results/v3.json"

    with pytest.raises(InvalidInput, match="must be of version 4 or later"):
        read_run(packed(recorded))


def test_result_without_a_status_is_passed_over() -> None:
    recorded = artifact("run_results")
    recorded["results"] = [{"unique_id": "a"}, 3, {"unique_id": "b", "status": "pass", "x": 1}]

    assert [each.unique_id for each in read_run(packed(recorded))[1]] == ["b"]
