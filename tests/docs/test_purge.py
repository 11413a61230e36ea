"""Statements of the page on operation about what a purge does, and does not, are true."""

from pathlib import Path

from tests.api.conftest import running
from tests.docs.blocks import ROOT
from tests.e2e.conftest import replay

PAGE = " ".join((ROOT / "docs" / "operations.md").read_text().split())


def test_purge_leaves_a_person_in_exports_and_as_owner(tmp_path: Path) -> None:
    with running(tmp_path) as client:
        ann = client.create("users", name="ann", email="ann@example.org")
        owners = [{"id": ann["id"], "type": "user"}]
        service = client.create(
            "services/databaseServices", name="shop", serviceType="Mysql", owners=owners
        )
        purged = client.ask("DELETE", f"/v1/users/{ann['id']}", params={"hardDelete": "true"})
        assert purged[0] == 200
        assert client.ask("GET", f"/v1/users/{ann['id']}")[0] == 404
        left = client.get(f"/v1/services/databaseServices/{service['id']}", fields="owners")
        assert [owner["name"] for owner in left["owners"]] == ["ann"]
    exported = replay("export", "-", "--data", str(tmp_path))

    assert exported.returncode == 0, exported.stderr
    assert "ann@example.org" in exported.stdout
    assert "It does **not** take anything from the log" in PAGE
    assert "A purged user or team stays where others name it: as owner" in PAGE
    assert "So a purge is not the erasure" in PAGE
