"""The types of entities, as OpenMetadata's client asks for them."""

from pathlib import Path

from tests.api.conftest import Client, running_under


def test_types_have_no_custom_properties(empty: Client) -> None:
    shown = empty.get("/api/v1/metadata/types/name/table", fields="customProperties")
    assert shown["customProperties"] == []
    assert (shown["name"], shown["category"], shown["nameSpace"]) == ("table", "entity", "data")
    plain = empty.get("/v1/metadata/types/name/table", category="field")
    assert "customProperties" not in plain
    assert plain["id"] == shown["id"]
    assert empty.get("/v1/metadata/types/name/topic")["id"] != shown["id"]
    assert empty.ask("GET", "/v1/metadata/types/name/string")[0] == 404
    assert empty.ask("GET", "/v1/metadata/types/name/table?fields=x")[0] == 400


def test_hidden_kinds_have_no_type(tmp_path: Path) -> None:
    with running_under(
        tmp_path, '[[rule]]\nrole = "reader"\nallow = ["view"]\nkinds = ["table"]\n'
    ) as client:
        path = "/v1/metadata/types/name"
        assert client.ask("GET", f"{path}/table", role="reader")[0] == 200
        assert client.ask("GET", f"{path}/topic", role="reader")[0] == 404
