"""The scopes that an entity is in, by what it refers to and by its labels."""

from typing import Any

import msgspec
import pytest

from domain.aggregate.entity import Entity
from domain.kinds.ids import new_id
from domain.kinds.names import name_key
from domain.kinds.registry import KINDS
from projections.entities.scopes import DOCUMENT, Sought, scopes_of, sought_scope
from tests.contracts.plain_read_model import scope_of


def entity(kind: str = "table", **body: Any) -> Entity:
    """An entity with some keys of its body."""
    raw = {key: msgspec.Raw(msgspec.json.encode(value)) for key, value in body.items()}
    return Entity(
        id=new_id(),
        kind=kind,
        name="t",
        fqn="s.d.s.t",
        parent_id=None,
        body=raw,
        version=1,
        stream_version=1,
        updated_at=0,
        updated_by="me",
        request_id="request",
    )


def keys(prefix: str, *names: tuple[str, str]) -> set[str]:
    return {prefix + name_key(*name).hex() for name in names}


def label(fqn: str, source: str = "Classification") -> dict[str, str]:
    return {"tagFQN": fqn, "source": source}


def test_entity_is_in_the_scopes_of_what_it_refers_to() -> None:
    team = {"id": "1", "type": "team", "name": "data", "fullyQualifiedName": "data"}
    dotted = {"id": "2", "type": "user", "name": "a.b", "fullyQualifiedName": '"a.b"'}
    nested = {"id": "3", "type": "domain", "name": "EU", "fullyQualifiedName": "Sales.EU"}
    schema = {"id": "4", "type": "databaseSchema", "name": "s", "fullyQualifiedName": "x.s"}

    made = entity(owners=[team, dotted], domains=[nested], databaseSchema=schema)

    expected = {"owner:1", "owner:2", "domain:3", "4"} | keys("domain:", ("", "EU"))
    assert scopes_of(made) == sorted(expected | keys("owner:", ("", "a.b")))
    assert scopes_of(entity("dataProduct", domains=[nested])) == sorted(
        {"domain:3"} | keys("domain:", ("", "EU"))
    )
    below = entity("team", parents=[team], owners=[{**team, "id": "9"}])
    assert scopes_of(below) == ["1", "owner:9"]


def test_entity_is_in_the_scopes_of_labels_at_every_depth_but_those_of_an_extension() -> None:
    inner = {"name": "i", "tags": [label("PII.Sensitive")], "children": []}
    made = entity(
        tags=[label("Tier.Tier1"), label("Terms.A.B", "Glossary")],
        columns=[{"name": "c", "children": [inner]}, {"name": "d", "tags": [label("Tier.Tier2")]}],
        dataModel={"tags": [label('Care."a.b"'), label('no "name')]},
        extension={"tags": [label("X.Y")], "more": {"tags": [label("X.Z")]}},
    )

    assert scopes_of(made) == sorted(
        keys("tag:", ("tag", "Tier.Tier1"), ("", "Tier"), ("", "Tier1"))
        | keys("tag:", ("glossaryTerm", "Terms.A.B"), ("", "Terms"), ("", "B"))
        | keys("tag:", ("tag", "PII.Sensitive"), ("", "PII"), ("", "Sensitive"))
        | keys("tag:", ("tag", "Tier.Tier2"), ("", "Tier2"))
        | keys("tag:", ("tag", 'Care."a.b"'), ("", "Care"), ("", "a.b"), ("tag", 'no "name'))
        | keys("tier:", ("tag", "Tier.Tier1"))
    )


def test_kind_without_a_key_has_no_scopes_of_its_filter() -> None:
    contract = entity("dataContract", schema=[{"name": "c", "tags": [label("PII.Sensitive")]}])
    assert scopes_of(contract) == ["verdict:Unknown"]


NOBODY = "0191ab00-0000-7000-8000-00000000dead"


@pytest.mark.parametrize(
    ("kind", "parameter", "value", "expected"),
    [
        ("table", "database", "s.d", Sought(names=(("database", "s.d"),))),
        ("dataContract", "entity", NOBODY, Sought(otherwise=NOBODY)),
        ("table", "owner", NOBODY.upper(), Sought(otherwise=f"owner:{NOBODY}")),
        ("table", "tag", NOBODY, Sought("tag:", entity_id=NOBODY, keyed=True)),
        ("table", "tier", NOBODY, Sought("tier:", entity_id=NOBODY, keyed=True)),
        (
            "table",
            "owner",
            "a.b",
            Sought(
                "owner:",
                (("user", '"a.b"'), ("team", '"a.b"')),
                otherwise=f"owner:{name_key('', 'a.b').hex()}",
            ),
        ),
        (
            "table",
            "tag",
            "PII",
            Sought(
                "tag:",
                (("tag", "PII"), ("glossaryTerm", "PII")),
                keyed=True,
                otherwise=f"tag:{name_key('', 'PII').hex()}",
            ),
        ),
        (
            "user",
            "domain",
            "EU",
            Sought("domain:", (("domain", "EU"),), otherwise=f"domain:{name_key('', 'EU').hex()}"),
        ),
        (
            "table",
            "tier",
            "Tier1",
            Sought(
                "tier:",
                (("tag", "Tier.Tier1"),),
                keyed=True,
                labels=(f"tier:{name_key('tag', 'Tier.Tier1').hex()}",),
                otherwise=f"tier:{name_key('', 'Tier.Tier1').hex()}",
            ),
        ),
    ],
)
def test_scope_is_sought_by_what_a_value_may_name(
    kind: str, parameter: str, value: str, expected: Sought
) -> None:
    assert sought_scope(KINDS[kind], parameter, value) == expected


def test_sought_scope_is_that_of_the_entity_found() -> None:
    assert scope_of(Sought("owner:"), "1", "user", "ann") == "owner:1"
    assert scope_of(Sought("tag:", keyed=True), "1", "tag", "A.B") in keys("tag:", ("tag", "A.B"))


def test_what_has_two_kinds_of_parents_is_listed_below_either() -> None:
    tag = KINDS["tag"]
    assert sought_scope(tag, "parent", "PII").names == (("tag", "PII"), ("classification", "PII"))
    assert sought_scope(tag, "classification", "PII").names == (("classification", "PII"),)
    assert sought_scope(KINDS["domain"], "parent", "a").names == (("domain", "a"),)


def test_contract_is_in_the_scope_of_the_id_of_its_document() -> None:
    contract = KINDS["dataContract"]
    for number in ("1", "1.0", "123456789012345678901234567890", '"1"'):
        given = entity("dataContract", odcs={"text": f'{{"a":[],"id":{number}}}', "values": {}})
        sought = sought_scope(contract, DOCUMENT, number.strip('"'))
        assert scopes_of(given) == [sought.otherwise, "verdict:Unknown"]
    assert scopes_of(entity("dataContract")) == ["verdict:Unknown"]
