"""The types of entities, as OpenMetadata's client asks for them."""

from pathlib import Path

from domain.kinds.bodies.property_types import PROPERTY_TYPES
from domain.kinds.registry import KINDS
from tests.api.conftest import Client, running_under


def test_types_have_no_custom_properties_before_any_is_defined(empty: Client) -> None:
    shown = empty.get("/api/v1/metadata/types/name/table", fields="customProperties")
    assert shown["customProperties"] == []
    assert (shown["name"], shown["category"], shown["nameSpace"]) == ("table", "entity", "data")
    plain = empty.get("/v1/metadata/types/name/table", category="field")
    assert "customProperties" not in plain
    assert plain["id"] == shown["id"]
    assert empty.get("/v1/metadata/types/name/topic")["id"] != shown["id"]
    assert plain == empty.get(f"/v1/metadata/types/{plain['id']}")
    assert empty.ask("GET", "/v1/metadata/types/name/nothing")[0] == 404
    assert empty.ask("GET", "/v1/metadata/types/01890000-0000-7000-8000-000000000000")[0] == 404
    assert empty.ask("GET", "/v1/metadata/types/name/table?fields=x")[0] == 400


def test_types_of_properties_are_found_by_name_and_id(empty: Client) -> None:
    shown = empty.get("/api/v1/metadata/types/name/date-cp", category="field")
    assert (shown["name"], shown["category"], shown["nameSpace"]) == ("date-cp", "field", "basic")
    assert shown == empty.get(f"/v1/metadata/types/{shown['id']}")


def test_types_are_listed_by_name_and_category(empty: Client) -> None:
    entities = empty.get("/v1/metadata/types", category="entity")
    assert [each["name"] for each in entities["data"]] == sorted(KINDS)
    fields = empty.get("/v1/metadata/types", category="field")["data"]
    assert [each["name"] for each in fields] == sorted(PROPERTY_TYPES)
    whole = empty.get("/v1/metadata/types")
    assert whole["paging"] == {"total": len(KINDS) + len(PROPERTY_TYPES)}
    seen, after = [], {}
    while after is not None:
        page = empty.get("/v1/metadata/types", limit=20, **after)
        seen += page["data"]
        after = {"after": page["paging"]["after"]} if "after" in page["paging"] else None
    assert seen == whole["data"]
    assert empty.ask("GET", "/v1/metadata/types?offset=1")[0] == 400


def test_hidden_kinds_have_no_type(tmp_path: Path) -> None:
    with running_under(
        tmp_path, '[[rule]]\nrole = "reader"\nallow = ["view"]\nkinds = ["table"]\n'
    ) as client:
        path = "/v1/metadata/types/name"
        assert client.ask("GET", f"{path}/table", role="reader")[0] == 200
        assert client.ask("GET", f"{path}/topic", role="reader")[0] == 404
        (only,) = client.ask("GET", "/v1/metadata/types?category=entity", role="reader")[1]["data"]
        assert only["name"] == "table"
