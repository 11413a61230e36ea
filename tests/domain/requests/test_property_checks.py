"""The checks of custom properties, which are made once for a state of their definitions."""

import msgspec

from domain.aggregate.entity import Entity
from domain.kinds.bodies.custom_properties import PROPERTIES
from domain.requests.property_checks import PropertyChecks, property_checks


def defined(kind: str, **allowed: list[str]) -> Entity:
    """The type of a kind with enums of these names."""
    definitions = [
        {
            "name": name,
            "propertyType": "enum",
            "customPropertyConfig": {"config": {"values": values}},
        }
        for name, values in allowed.items()
    ]
    return Entity(
        id=kind,
        kind="type",
        name=kind,
        fqn=kind,
        parent_id=None,
        body={PROPERTIES: msgspec.Raw(msgspec.json.encode(definitions))},
        version=1,
        stream_version=1,
        updated_at=1,
        updated_by="me",
        request_id="r",
    )


def test_checks_are_made_once_for_equal_definitions() -> None:
    checks = property_checks(defined("table", size=["s", "m"]))
    assert property_checks(defined("table", size=["s", "m"])) is checks
    check = checks.of("size")
    assert check is not None
    assert checks.of("size") is check
    assert [check.fits(given) for given in (["s"], ["l"], "s")] == [True, False, False]
    assert checks.of("colour") is None


def test_changed_definitions_have_checks_of_their_own() -> None:
    before = property_checks(defined("topic", size=["s"]))
    after = property_checks(defined("topic", size=["l"]))
    assert after is not before
    check = after.of("size")
    assert check is not None
    assert check.fits(["l"])
    assert not check.fits(["s"])


def test_checks_of_few_kinds_are_held() -> None:
    first = property_checks(defined("first", size=["s"]))
    for number in range(8):
        property_checks(defined(f"other{number}", size=["s"]))
    again = property_checks(defined("first", size=["s"]))
    assert again is not first
    assert isinstance(again, PropertyChecks)
