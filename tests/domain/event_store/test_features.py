"""Whatever of the stored format a release adds has a name and names the release."""

from typing import Any

import msgspec
import pytest

from domain.aggregate.upcasters import UPCASTERS, current_schema
from domain.errors import LaterRelease
from domain.event_store.features import EARLIEST, FIRST, KNOWN, features_of, refuse_unknown
from domain.events import EVENT_TYPES, EntityChanged, EntityCreated, Event, encode
from domain.kinds.registry import ALL_KINDS
from domain.release import RELEASE

REQUIRED = {
    "entity.created": {"name", "fqn", "body"},
    "entity.changed": {"patch"},
    "entity.status-changed": {"status"},
    "entity.soft-deleted": set(),
    "entity.restored": set(),
    "entity.purged": set(),
}
"""Of the types of the first release, beside what all events carry. Only the events of a type that
is new may have other fields that are required."""
FIELDS: dict[str, Any] = {"kind": "dataContract", "actor": "ann", "at": 1, "version": 1}
FIELDS["request_id"] = "r"
COMMON = {"kind", "actor", "at", "version", "requestId"}


def test_every_type_field_schema_and_kind_names_its_release() -> None:
    """A new one is named in `domain.event_store.features`, with the release it is to appear in."""
    types = {f"event:{name}" for name in EVENT_TYPES}
    fields = {
        f"field:{name}.{field.encode_name}"
        for name, event_type in EVENT_TYPES.items()
        for field in msgspec.structs.fields(event_type)
        if not field.required
    }
    schemas = {
        f"schema:{name}.{schema}"
        for name in EVENT_TYPES
        for schema in range(2, current_schema(name, UPCASTERS) + 1)
    }
    kinds = {f"kind:{kind}" for kind in ALL_KINDS}
    keys = {f"key:{kind.name}.{key}" for kind in ALL_KINDS.values() for key in kind.apart}
    assert {*KNOWN} == types | fields | schemas | kinds | keys


@pytest.mark.parametrize(
    ("event", "uses"),
    [
        (EntityCreated(**FIELDS, name="c", fqn="c", body={"odcs": encode({})}), True),
        (EntityCreated(**FIELDS, name="c", fqn="c", body={"sla": encode({})}), False),
        (EntityChanged(**FIELDS, patch=[{"op": "replace", "path": "/odcs/text"}]), True),
        (EntityChanged(**FIELDS, patch=[{"op": "remove", "path": "/sla"}]), False),
    ],
)
def test_event_that_gives_a_contract_a_document_uses_a_feature(event: Event, uses: bool) -> None:
    assert ("key:dataContract.odcs" in features_of([event])) == uses


@pytest.mark.parametrize("name", REQUIRED)
def test_no_field_is_added_that_events_may_not_leave_out(name: str) -> None:
    fields = msgspec.structs.fields(EVENT_TYPES[name])
    assert {each.encode_name for each in fields if each.required} == COMMON | REQUIRED[name]


def test_no_feature_is_of_a_release_after_the_next_one() -> None:
    def order(release: str) -> tuple[int, ...]:
        return tuple(map(int, release.split(".")))

    # What is added after a release appears in the next minor one, whose number it names already.
    major, minor, _ = order(RELEASE)
    known = {order(release) for release in KNOWN.values()}
    assert all(order(FIRST) <= each <= order(RELEASE) for each in known - {(major, minor + 1, 0)})


def test_features_of_the_first_release_stay_as_they_are() -> None:
    assert len(EARLIEST) == 44, "a new kind names its release in its row (`since`)"


def test_what_is_known_is_not_refused() -> None:
    refuse_unknown({}, "the log")
    refuse_unknown(KNOWN, "the log")


@pytest.mark.parametrize(
    ("features", "sentence"),
    [
        (
            {"event:entity.erased": "0.3.0"},
            "the log uses event:entity.erased, which this release (0.2.0) does not know:"
            " release 0.3.0 knows it",
        ),
        (
            {"kind:a": "0.9.0", "kind:table": "0.2.0", "kind:b": "0.10.0", "kind:c": "0.3.1"},
            "the log uses kind:a, kind:b, kind:c, which this release (0.2.0) does not know:"
            " release 0.10.0 knows it",
        ),
        (
            {f"kind:{number}": "1" for number in range(9)},
            "the log uses kind:0, kind:1, kind:2 and 6 more, which this release (0.2.0) does not"
            " know: release 1 knows it",
        ),
        (
            {"x" * 500: "y" * 500, "kind:z": ""},
            f"the log uses {'x' * 80}, kind:z, which this release (0.2.0) does not know: a later"
            " one knows it",
        ),
        (
            {"kind:a\nb": "9" * 5_000, "kind:c": "0.3.0\n"},
            "the log uses 'kind:a\\nb', kind:c, which this release (0.2.0) does not know: a later"
            " one knows it",
        ),
    ],
)
def test_refusal_names_features_and_the_release_that_knows_them(
    features: dict[str, str], sentence: str
) -> None:
    with pytest.raises(LaterRelease) as refused:
        refuse_unknown(features, "the log")
    assert refused.value.message == sentence.replace("0.2.0", RELEASE)
