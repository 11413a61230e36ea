"""Deletes as a job, as OpenMetadata's client asks for them: done when they are answered."""

from tests.api.conftest import Client


def test_delete_as_a_job_is_done_when_it_is_answered(client: Client) -> None:
    client.schema()
    table, schema = client.table(), client.get("/v1/databaseSchemas")["data"][0]
    path = f"/api/v1/databaseSchemas/async/{schema['id']}"
    refused = client.ask("DELETE", f"{path}?recursive=false&hardDelete=false", role="bot")
    assert refused[0] == 400

    answer = client.request("DELETE", f"{path}?recursive=true&hardDelete=false", role="bot")
    assert (answer.status_code, answer.json()["message"]) == (202, "databaseSchema is deleted")
    assert answer.headers["X-OpenMetadata-Change"] == "entitySoftDeleted"
    assert client.ask("GET", f"/v1/tables/{table['id']}")[0] == 404
    events = client.get("/v1/audit/events", requestId=answer.json()["jobId"])["data"]
    assert {each["kind"] for each in events} == {"table", "databaseSchema"}

    purged = client.request("DELETE", f"{path}?recursive=true&hardDelete=true", role="bot")
    assert purged.status_code == 202
    assert client.ask("GET", f"/v1/databaseSchemas/{schema['id']}?include=all")[0] == 404
    assert client.ask("DELETE", path)[0] == 404


def test_delete_as_a_job_is_for_those_who_may_delete(client: Client) -> None:
    client.schema()
    table = client.table()["id"]
    assert client.ask("DELETE", f"/v1/tables/async/{table}", role="reader")[0] == 403
    headers = {"If-Match": '"9.9"'}
    assert client.ask("DELETE", f"/v1/tables/async/{table}", headers=headers)[0] == 412
    assert client.get(f"/v1/tables/{table}")["id"] == table
