"""The query that shows the rows which failed a test, sent as OpenMetadata's client sends it."""

from pathlib import Path

import pytest

from tests.api.conftest import Client, running_under

SQL = "SELECT \"id\"\nFROM sales.orders\nWHERE label IS NULL OR label = 'é'"


def case_of(client: Client) -> str:
    """The path of a new test case."""
    client.schema()
    client.table()
    client.create(
        "dataQuality/testDefinitions",
        name="rowCount",
        entityType="TABLE",
        testPlatforms=["OpenMetadata"],
    )
    link = "<#E::table::service.database.schema.orders>"
    body = {"name": "counted", "testDefinition": "rowCount", "entityLink": link}
    return f"/api/v1/dataQuality/testCases/{client.create('dataQuality/testCases', **body)['id']}"


@pytest.mark.parametrize("media_type", ["application/json", "text/plain; charset=utf-8"])
def test_text_of_the_query_is_stored_as_it_is_and_once(client: Client, media_type: str) -> None:
    case = case_of(client)
    headers = {"Content-Type": media_type}
    changes = []
    for _ in range(2):
        answer = client.request(
            "PUT", f"{case}/inspectionQuery", content=SQL.encode(), headers=headers, role="bot"
        )
        assert (answer.status_code, answer.json()["inspectionQuery"]) == (200, SQL)
        changes.append(answer.headers["X-OpenMetadata-Change"])
    assert changes == ["entityUpdated", "entityNoChange"]
    assert client.get(case)["inspectionQuery"] == SQL


@pytest.mark.parametrize(
    ("content", "status", "says"),
    [
        (b"", 400, "is empty"),
        (b" \n", 400, "is empty"),
        (b"\xff", 400, "not UTF-8"),
        (b"x" * 10_000_001, 413, "may have"),
    ],
)
def test_what_is_no_text_of_a_query_is_refused(
    client: Client, content: bytes, status: int, says: str
) -> None:
    case = case_of(client)
    answer = client.ask("PUT", f"{case}/inspectionQuery", content=content)
    assert (answer[0], says in answer[1]["message"]) == (status, True), answer
    wrong = {"Content-Type": "application/xml"}
    assert client.ask("PUT", f"{case}/inspectionQuery", content=b"x", headers=wrong)[0] == 415
    assert "inspectionQuery" not in client.get(case)
    other = f"/v1/tables/{client.get('/v1/tables')['data'][0]['id']}/inspectionQuery"
    assert client.ask("PUT", other, content=b"x")[0] == 404


def test_query_is_set_by_those_who_may_edit_it(tmp_path: Path) -> None:
    with running_under(
        tmp_path,
        '[[rule]]\nrole = "admin"\nallow = ["list", "view", "create", "edit"]\n'
        '[[rule]]\nrole = "bot"\nallow = ["view", "edit"]\nwithhold = ["inspectionQuery"]\n',
    ) as client:
        path = f"{case_of(client)}/inspectionQuery"
        assert client.ask("PUT", path, content=SQL.encode(), role="reader")[0] == 403
        status, answer = client.ask("PUT", path, content=SQL.encode(), role="bot")
        assert (status, "withheld" in answer["message"]) == (403, True)
        assert client.ask("PUT", path, content=SQL.encode())[0] == 200
