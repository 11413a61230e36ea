"""Run as a process of its own by test_new_kind: a registry with one more row, then the product."""

import sys
from pathlib import Path
from types import MappingProxyType

from domain.kinds import registry
from domain.kinds.bodies.base import Tagged
from domain.kinds.entity_kind import EntityKind


class Spreadsheet(Tagged, kw_only=True):
    """The made-up kind's payload."""

    sheets: list[str] | None = None


ROW = EntityKind(
    name="spreadsheet",
    collection="spreadsheets",
    body=Spreadsheet,
    root=True,
    large=("sheets",),
    searched={"sheets": 2},
)


def main(directory: Path) -> None:
    # Before anything else is imported, as if the row stood in the registry.
    registry.KINDS = MappingProxyType({**registry.KINDS, ROW.name: ROW})
    registry.ALL_KINDS = MappingProxyType({**registry.ALL_KINDS, ROW.name: ROW})
    from tests.api.conftest import running  # noqa: PLC0415 - the row comes first

    with running(directory) as client:
        made = client.create("spreadsheets", name="budget_2026", sheets=["Q1", "Forecast"])

        assert client.get("/v1/spreadsheets")["paging"]["total"] == 1
        listed = client.get("/v1/spreadsheets", fields="sheets")["data"][0]
        assert listed["sheets"] == made["sheets"]
        assert client.get("/v1/spreadsheets/name/budget_2026") == made
        assert client.ask("GET", "/v1/spreadsheets?fields=colour")[0] == 400
        assert client.ask("POST", "/v1/spreadsheets", json={"name": "x", "colour": 1})[0] == 400
        answer = client.search_until(
            lambda a: a["hits"]["total"]["value"] == 1,
            q="forecast",
            index="spreadsheet_search_index",
        )
        assert answer["hits"]["hits"][0]["_source"] == {
            **{"owners": [], "tags": [], "deleted": False, "description": ""},
            **made,
            "entityType": "spreadsheet",
        }
        paths = client.http.get("/docs/openapi.json").json()["paths"]
        assert "/v1/spreadsheets/{entity_id}" in paths


if __name__ == "__main__":
    main(Path(sys.argv[1]))
    print("the made-up kind works")
