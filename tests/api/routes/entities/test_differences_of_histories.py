"""What changed between any two points of random histories, by what was shown at both of them."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.api.conftest import Client, running
from tests.depth import examples

COLLECTIONS = {
    "glossary": "glossaries",
    "glossaryTerm": "glossaryTerms",
    "domain": "domains",
    "databaseService": "services/databaseServices",
    "database": "databases",
}
KEPT = ("id", "version", "updatedAt", "updatedBy", "formerNames")
"""Keys of an entity that no change is described by."""
STEPS = (
    *("create", "create", "describe", "describe", "move", "move"),
    *("delete", "restore", "rename", "purge"),
)
Shown = dict[str, Any]
numbers = count()


class History:
    """A catalog's part with names of its own, and what it showed after each step."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.base = f"n{next(numbers)}"
        self.kinds: dict[str, str] = {}
        """Id of each entity that was created -> its kind."""
        self.shown: dict[int, dict[str, Shown]] = {}
        """Position -> id -> the entity as it was shown there."""
        self.purges: dict[int, set[str]] = {}
        """Position after a purge -> the ids of what it took."""
        self._note()
        for kind in ("glossary", "domain", "databaseService", "glossaryTerm", "database"):
            self._create(kind, "")
            self._note()

    def _note(self) -> None:
        found = {}
        for entity_id, kind in self.kinds.items():
            params = {"include": "all", "fields": "*"}
            path = f"/v1/{COLLECTIONS[kind]}/{entity_id}"
            status, body = self.client.ask("GET", path, params=params)
            if status == 200:
                found[entity_id] = {**body, "deleted": body.get("deleted", False)}
        head = self.client.services.stores.log.head()
        if self.shown:
            gone = self.shown[max(self.shown)].keys() - found.keys()
            self.purges.setdefault(head, set()).update(gone)
        self.shown[head] = found

    def _create(self, kind: str, name: str) -> None:
        body: dict[str, Any] = {"name": f"{self.base}{kind}{name}", "description": "x"}
        if kind == "domain":
            body["domainType"] = "Aggregate"
        elif kind == "databaseService":
            body["serviceType"] = "Mysql"
        elif kind in ("glossaryTerm", "database"):
            above = {"glossaryTerm": "glossary", "database": "service"}[kind]
            sought = above if above == "glossary" else "databaseService"
            newest = self.shown[max(self.shown)]
            parents = [
                each["fullyQualifiedName"]
                for entity_id, each in newest.items()
                if self.kinds[entity_id] == sought and not each["deleted"]
            ]
            if not parents:
                return
            body[above] = parents[0]
        status, made = self.client.ask("POST", f"/v1/{COLLECTIONS[kind]}", json=body)
        if status == 201:
            self.kinds[made["id"]] = kind

    def step(self, what: str, which: int, text: str) -> None:
        """Do something that may well be refused, and note what is shown then."""
        entity_id = [*self.kinds][which % len(self.kinds)]
        kind = self.kinds[entity_id]
        path = f"/v1/{COLLECTIONS[kind]}/{entity_id}"
        if what == "create":
            self._create([*COLLECTIONS][which % len(COLLECTIONS)], text)
        elif what == "delete":
            self.client.request("DELETE", path, params={"recursive": True})
        elif what == "purge":
            self.client.request("DELETE", path, params={"recursive": True, "hardDelete": True})
        elif what == "restore":
            restored = f"/v1/{COLLECTIONS[kind]}/restore"
            self.client.request("PUT", restored, json={"id": entity_id})
        elif what == "move":
            value = [] if text == "a" else [{"type": "domain", "id": self.domain}]
            self._patch(path, "domains", value)
        else:
            new = {"describe": ("description", text), "rename": ("name", self.base + kind + text)}
            self._patch(path, *new[what])
        self._note()

    def _patch(self, path: str, key: str, value: Any) -> None:
        given = [{"op": "add", "path": f"/{key}", "value": value}]
        self.client.request("PATCH", path, json=given)

    @property
    def domain(self) -> str:
        """Id of the first domain."""
        return next(each for each, kind in self.kinds.items() if kind == "domain")

    @property
    def glossary(self) -> str:
        """Id of the first glossary."""
        return next(each for each, kind in self.kinds.items() if kind == "glossary")

    def expected(self, before: int, after: int) -> list[dict[str, Any]]:
        """What differs, by what was shown at both points, less what was purged since."""
        since = {one for at, ids in self.purges.items() if at > after for one in ids}
        between = {one for at, ids in self.purges.items() if before < at <= after for one in ids}
        found = []
        for entity_id, kind in self.kinds.items():
            old, new = (self.shown[at].get(entity_id) for at in (before, after))
            change = _change(old, new) if entity_id not in since else None
            last = new or self._last(entity_id, after)
            if entity_id in between:
                change = "purged"
            if change is None or last is None:
                continue
            named = {"type": kind, "id": entity_id, "fullyQualifiedName": _name(last)}
            deleted = {"deleted": True} if last["deleted"] else {}
            found.append(
                {
                    "change": change,
                    "entity": {**named, **deleted},
                    **({"from": old["version"]} if old else {}),
                    **({"to": new["version"]} if new else {}),
                }
            )
        return sorted(found, key=_order)

    def _last(self, entity_id: str, after: int) -> Shown | None:
        """The entity as it was shown before it was purged."""
        known = [at for at, shown in self.shown.items() if at <= after and entity_id in shown]
        return self.shown[max(known)][entity_id] if known else None

    def within(self, differing: list[dict[str, Any]], *points: int) -> list[dict[str, Any]]:
        """Those that were in the glossary, or below it, at one of two points."""
        root = [self.shown[at].get(self.glossary) for at in points]
        found = []
        for each in differing:
            entity_id, kind = each["entity"]["id"], each["entity"]["type"]
            states = [self.shown[at].get(entity_id) for at in points]
            states[1] = states[1] or self._last(entity_id, points[1])
            if kind in ("glossary", "glossaryTerm") and any(
                above and state and f"{_name(state)}.".startswith(f"{_name(above)}.")
                for above, state in zip(root, states, strict=True)
            ):
                found.append(each)
        return found

    def in_domain(self, differing: list[dict[str, Any]], *points: int) -> list[dict[str, Any]]:
        """Those that were in the domain at one of two points."""
        found = []
        for each in differing:
            entity_id = each["entity"]["id"]
            states = [self.shown[at].get(entity_id) for at in points]
            states[1] = states[1] or self._last(entity_id, points[1])
            if any(
                one["id"] == self.domain
                for state in states
                if state
                for one in state.get("domains", [])
            ):
                found.append(each)
        return found


def _change(old: Shown | None, new: Shown | None) -> str | None:
    if new is None:
        return None
    if old is None:
        return "created"
    if old["deleted"] != new["deleted"]:
        return "deleted" if new["deleted"] else "restored"
    kept = [{key: each[key] for key in each if key not in KEPT} for each in (old, new)]
    return None if kept[0] == kept[1] else "changed"


def _name(shown: Shown) -> str:
    name: str = shown["fullyQualifiedName"]
    return name


def _order(each: dict[str, Any]) -> tuple[str, ...]:
    return tuple(each["entity"][key] for key in ("type", "fullyQualifiedName", "id"))


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    directory: Path = tmp_path_factory.mktemp("histories")
    with running(directory) as started:
        yield started


def walked(client: Client, limit: int, **params: Any) -> list[Any]:
    """All entities of a comparison, page by page."""
    found: list[Any] = []
    cursor: dict[str, str] = {}
    while not found or cursor:
        answer = client.get("/v1/diff", limit=limit, **params, **cursor)
        found += answer["data"]
        assert answer["paging"]["total"] == sum(answer["counts"].values())
        after = answer["paging"].get("after")
        cursor = {} if after is None else {"after": after}
        if not cursor:
            assert len(found) == answer["paging"]["total"]
            break
    return found


@settings(deadline=None, max_examples=examples(100), suppress_health_check=[HealthCheck.too_slow])
@given(
    steps=st.lists(
        st.tuples(st.sampled_from(STEPS), st.integers(0, 9), st.sampled_from("ab")),
        min_size=3,
        max_size=10,
    ),
    data=st.data(),
)
def test_difference_is_that_of_what_was_shown_at_both_points(
    client: Client, steps: list[tuple[str, int, str]], data: st.DataObject
) -> None:
    history = History(client)
    for step in steps:
        history.step(*step)
    positions = sorted(history.shown)
    for _ in range(2):
        drawn = [data.draw(st.sampled_from(positions)) for _ in range(2)]
        before, after = sorted(drawn)
        limit = data.draw(st.sampled_from((3, 100)))
        points = {"from": before, "to": after}
        expected = history.expected(before, after)
        assert walked(client, limit, **points) == expected
        of_kind = [each for each in expected if each["entity"]["type"] == "glossaryTerm"]
        assert walked(client, limit, kind="glossaryTerm", **points) == of_kind
        newest = history.shown[positions[-1]]
        if history.glossary in newest:
            below = _name(newest[history.glossary])
            within = history.within(expected, before, after)
            assert walked(client, limit, below=below, **points) == within
        if history.domain in newest:
            inside = history.in_domain(expected, before, after)
            assert walked(client, limit, domain=history.domain, **points) == inside
