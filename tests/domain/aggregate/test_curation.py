"""Texts that people curated survive the writes of bots; each bot's write comes to rest at once."""

from collections.abc import Iterator
from typing import Any, get_args, get_type_hints

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.aggregate.commands import ChangeEntity, Ingestion
from domain.aggregate.curation import patched_by_bot
from domain.aggregate.entity import Entity, decide
from domain.events import EntityChanged, EntityRestored, encode
from domain.kinds.bodies.columns import NamedPart
from domain.kinds.bodies.components import Part
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import KINDS, ROWS
from tests.domain.folding import fold

ID = "01890a5d-ac96-774b-bcce-b302099a8057"
Values = dict[str, Any]


def label(fqn: str, source: str = "Classification", **values: str) -> Values:
    return {"tagFQN": fqn, "source": source, "labelType": "Manual", "state": "Confirmed", **values}


PII, TIER = label("PII.Sensitive"), label("Tier.Tier1")
TERM = label("PII.Sensitive", "Glossary")
GUESS = label("PII.Sensitive", labelType="Automated", state="Suggested")
ANN, BOB = {"id": "a", "type": "user"}, {"id": "b", "type": "user"}
GOLD, SILVER = ({"tagLabel": label(f"Certification.{name}")} for name in ("Gold", "Silver"))


def entity(kind: str = "table", deleted_by: str | None = None, **values: Any) -> Entity:
    return Entity(
        id=ID,
        kind=kind,
        name="n",
        fqn="p.n",
        parent_id=None,
        body={key: encode(value) for key, value in values.items()},
        version=1,
        stream_version=1,
        updated_at=1,
        updated_by="ann",
        request_id="r",
        deleted_by=deleted_by,
    )


def ingest(state: Entity, given: Values, *, override: bool = False) -> ChangeEntity:
    """A bot's write of these keys: others stay, empty ones are removed, as in every PUT."""
    keys = {key: encode(value) for key, value in given.items() if value not in (None, [], {})}
    kept = {key: raw for key, raw in state.body.items() if key not in given}
    ingestion = Ingestion(source_hash=keys.get("sourceHash"), override=override)
    return ChangeEntity(
        actor="bot", at=2, request_id="r", body={**kept, **keys}, ingestion=ingestion
    )


def ingested(state: Entity, given: Values, *, override: bool = False) -> Entity:
    after = fold(ID, decide(ingest(state, given, override=override), state), state)
    assert after is not None
    return after


def values(state: Entity) -> Values:
    return {key: msgspec.json.decode(raw) for key, raw in state.body.items()}


@pytest.mark.parametrize(
    ("key", "curated", "sent", "kept", "overridden"),
    [
        ("description", "ours", "theirs", "ours", "theirs"),
        ("description", "ours", None, "ours", "ours"),
        ("description", "ours", "", "ours", "ours"),
        ("description", "", "theirs", "theirs", "theirs"),
        ("description", None, "theirs", "theirs", "theirs"),
        ("displayName", "Ours", "Theirs", "Ours", "Theirs"),
        ("owners", [ANN], [BOB], [ANN], [BOB]),
        ("owners", [ANN], [], [ANN], [ANN]),
        ("owners", None, [BOB], [BOB], [BOB]),
        ("domains", [ANN], [BOB], [ANN], [BOB]),
        ("dataProducts", [ANN], [BOB], [ANN], [BOB]),
        ("certification", GOLD, SILVER, GOLD, SILVER),
        ("certification", None, SILVER, SILVER, SILVER),
        ("extension", {"cost": 1}, {"cost": 2}, {"cost": 1}, {"cost": 2}),
        ("tags", [PII], [TIER], [PII, TIER], [TIER]),
        ("tags", [PII], [GUESS], [PII], [GUESS]),
        ("tags", [PII], [TERM], [PII, TERM], [TERM]),
        ("tags", [PII], [], [PII], [PII]),
        ("tags", None, [TIER], [TIER], [TIER]),
        ("retentionPeriod", "P1D", "P2D", "P2D", "P2D"),
        ("retentionPeriod", "P1D", None, None, None),
    ],
)
def test_value_after_a_bots_write(
    key: str, curated: Any, sent: Any, kept: Any, overridden: Any
) -> None:
    state = entity(**({} if curated is None else {key: curated}))
    assert values(ingested(state, {key: sent})).get(key) == kept
    assert values(ingested(state, {key: sent}, override=True)).get(key) == overridden


def column(name: str, data_type: str = "INT", **more: Any) -> Values:
    return {"name": name, "dataType": data_type, "tags": [], **more}


CURATED = {"description": "ours", "displayName": "Ours", "tags": [PII]}


@pytest.mark.parametrize(
    ("curated", "sent", "kept", "overridden"),
    [
        (
            [column("a", **CURATED)],
            [column("a", "BIGINT")],
            [column("a", "BIGINT", **CURATED)],
            [column("a", "BIGINT", **CURATED)],
        ),
        (
            [column("a", **CURATED)],
            [column("a", description="theirs", tags=[TIER])],
            [column("a", **CURATED | {"tags": [PII, TIER]})],
            [column("a", description="theirs", displayName="Ours", tags=[TIER])],
        ),
        (
            [column("a", **CURATED), column("b")],
            [column("b"), column("c"), column("A", description="theirs")],
            [column("b"), column("c"), column("A", description="theirs")],
            [column("b"), column("c"), column("A", description="theirs")],
        ),
        (
            [column("s", "STRUCT", children=[column("a", **CURATED), column("b")])],
            [column("s", "STRUCT", children=[column("a", "BIGINT"), column("c")])],
            [column("s", "STRUCT", children=[column("a", "BIGINT", **CURATED), column("c")])],
            [column("s", "STRUCT", children=[column("a", "BIGINT", **CURATED), column("c")])],
        ),
        ([column("s", "STRUCT", children=[column("a", **CURATED)])], [column("s")], None, None),
    ],
    ids=["absent", "given", "dropped, new and of another case", "inside a struct", "no struct now"],
)
@pytest.mark.parametrize(
    ("kind", "path"),
    [(kind.name, path) for kind in ROWS for path in kind.body.parts],
)
def test_named_parts_after_a_bots_write(
    kind: str, path: str, curated: Any, sent: Any, kept: Any, overridden: Any
) -> None:
    def within(parts: Any) -> Values:
        key, _, inner = path.partition(".")
        return {key: {inner: parts, "more": 1} if inner else parts}

    state = entity(kind, **within(curated))
    assert values(ingested(state, within(sent))) == within(sent if kept is None else kept)
    after = values(ingested(state, within(sent), override=True))
    assert after == within(sent if overridden is None else overridden)


def test_parts_that_a_bot_does_not_give_go_as_in_every_put() -> None:
    state = entity("container", dataModel={"columns": [column("a", **CURATED)]}, prefix="/")
    assert values(ingested(state, {"prefix": "/x"})) == values(state) | {"prefix": "/x"}
    assert values(ingested(state, {"dataModel": None})) == {"prefix": "/"}
    assert values(ingested(entity("table", columns=[column("a")]), {"columns": []})) == {}


def test_equal_source_hash_changes_nothing() -> None:
    state = entity(sourceHash="h1", columns=[column("a", **CURATED)], retentionPeriod="P1D")
    sent = {"sourceHash": "h1", "columns": [column("b")], "retentionPeriod": None}
    assert decide(ingest(state, sent), state) == []


@pytest.mark.parametrize("given_hash", [{"sourceHash": "h2"}, {"sourceHash": None}, {}])
def test_other_source_hash_or_none_lets_the_write_through(given_hash: Values) -> None:
    state = entity(sourceHash="h1", retentionPeriod="P1D")
    (event,) = decide(ingest(state, {"retentionPeriod": "P2D"} | given_hash), state)
    assert isinstance(event, EntityChanged)


def test_source_hash_alone_is_recorded_where_there_is_another_and_not_where_there_is_none() -> None:
    changed, unhashed = entity(sourceHash="h1"), entity(description="ours")
    sent = {"sourceHash": "h2", "description": None}
    (event,) = decide(ingest(changed, sent), changed)
    assert isinstance(event, EntityChanged)
    assert decide(ingest(unhashed, sent), unhashed) == []
    assert values(ingested(unhashed, sent | {"retentionPeriod": "P1D"}))["sourceHash"] == "h2"


def test_columns_stay_numbered_when_a_bot_numbers_none() -> None:
    def numbered(*names: str) -> list[Values]:
        return [column(name, ordinalPosition=n) for n, name in enumerate(names, 1)]

    state = entity(columns=numbered("a", "b"))
    same, grown = ({"columns": [column(name) for name in names]} for names in ("ab", "bca"))
    assert decide(ingest(state, same), state) == []
    assert values(ingested(state, grown)) == {"columns": numbered("b", "c", "a")}
    theirs = {"columns": [column("a", ordinalPosition=7)]}
    assert values(ingested(state, theirs)) == theirs


@pytest.mark.parametrize(
    ("change", "stays"),
    [
        ({"description": "new", "tags": [PII], "owners": [ANN], "displayName": None}, True),
        ({"columns": [column("a", **CURATED, ordinalPosition=1)]}, True),
        ({"columns": [column("a", "BIGINT")]}, False),
        ({"columns": [column("a"), column("b")]}, False),
        ({"columns": None}, False),
        ({"tableConstraints": [{"constraintType": "UNIQUE", "columns": ["a"]}]}, False),
        ({"sourceHash": "h2", "retentionPeriod": "P1D"}, True),
    ],
)
def test_patch_of_a_bot_keeps_the_source_hash_while_it_stands_for_what_is_there(
    change: Values, stays: bool
) -> None:
    before = entity(sourceHash="h1", displayName="Ours", columns=[column("a")]).body
    given = {key: encode(value) for key, value in change.items() if value is not None}
    body = {key: raw for key, raw in before.items() if key not in change} | given
    after = patched_by_bot(KINDS["table"], before, body)
    assert after == (body if stays else {k: v for k, v in body.items() if k != "sourceHash"})


def test_patch_of_a_bot_sees_parts_inside_others() -> None:
    def bodies(data_type: str, **texts: str) -> Values:
        children = [column("a", data_type, **texts)]
        return entity("container", sourceHash="h1", dataModel={"columns": children}).body

    kind = KINDS["container"]
    assert "sourceHash" in patched_by_bot(kind, bodies("INT"), bodies("INT", description="new"))
    assert "sourceHash" not in patched_by_bot(kind, bodies("INT"), bodies("DATE"))


def test_override_writes_in_spite_of_an_equal_source_hash() -> None:
    state = entity(sourceHash="h1", description="ours")
    after = ingested(state, {"sourceHash": "h1", "description": "theirs"}, override=True)
    assert values(after) == {"sourceHash": "h1", "description": "theirs"}


def test_equal_source_hash_restores_what_was_deleted_and_no_more() -> None:
    state = entity(sourceHash="h1", description="ours", deleted_by="r0")
    events = decide(ingest(state, {"sourceHash": "h1", "retentionPeriod": "P1D"}), state)
    assert [type(event) for event in events] == [EntityRestored]


def test_events_of_a_bots_write_hold_only_what_it_changed() -> None:
    state = entity(columns=[column("a", **CURATED), column("b")], description="ours")
    sent = {"columns": [column("a"), column("b", "BIGINT")], "description": "theirs"}
    (event,) = decide(ingest(state, sent), state)
    assert isinstance(event, EntityChanged)
    assert event.patch == [{"op": "replace", "path": "/columns/1/dataType", "value": "BIGINT"}]
    assert event.actor == "bot"


def test_person_replaces_what_is_there() -> None:
    state = entity(sourceHash="h1", description="ours", tags=[PII])
    command = ingest(state, {"sourceHash": "h1", "description": "new", "tags": [TIER]})
    person = msgspec.structs.replace(command, actor="ann", ingestion=None)
    after = fold(ID, decide(person, state), state)
    assert after is not None
    assert values(after) == {"sourceHash": "h1", "description": "new", "tags": [TIER]}


texts = st.sampled_from(["", "one", "two"])
labels = st.lists(
    st.sampled_from([PII, TIER, TERM, GUESS]),
    unique_by=lambda each: (each["source"], each["tagFQN"]),
    max_size=3,
)
people = st.lists(st.sampled_from([ANN, BOB]), unique_by=lambda each: each["id"], max_size=2)
names = st.sampled_from("abcA")


def columns(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    one = st.fixed_dictionaries(
        {"name": names, "dataType": st.sampled_from(["INT", "STRUCT"]), "tags": labels},
        optional={"description": texts, "displayName": texts, "children": inner},
    )
    return st.lists(one, unique_by=lambda each: each["name"], max_size=3)


bodies = st.fixed_dictionaries(
    {},
    optional={
        "description": texts,
        "displayName": st.none() | texts,
        "owners": people,
        "domains": people,
        "dataProducts": people,
        "certification": st.sampled_from([None, GOLD, SILVER]),
        "extension": st.dictionaries(names, st.floats(allow_nan=False) | st.integers()),
        "tags": labels,
        "columns": columns(columns(st.just([]))),
        "sourceHash": st.sampled_from(["h1", "h2"]),
        "retentionPeriod": texts,
    },
)


def curated(state: Values) -> dict[tuple[str, ...], Any]:
    """Path -> value, of what people may have written and that is not empty; of tags, each."""
    found: dict[tuple[str, ...], Any] = {}
    for key, value in state.items():
        if key == "tags":
            found |= {("tag", each["source"], each["tagFQN"]): each for each in value}
        elif key in ("columns", "children"):
            for part in value:
                found |= {(part["name"], *path): held for path, held in curated(part).items()}
        elif key not in ("name", "dataType", "sourceHash", "retentionPeriod") and value:
            found[(key,)] = value
    return found


def parts(state: Values) -> set[tuple[str, ...]]:
    """The paths of all columns, of the entity itself too."""
    inner = [*(state.get("columns") or ()), *(state.get("children") or ())]
    below = {(part["name"], *path) for part in inner for path in parts(part)}
    return {(), *below}


@given(bodies, bodies, st.booleans())
def test_whatever_people_curated_survives_and_the_second_write_stores_nothing(
    first: Values, sent: Values, override: bool
) -> None:
    state = entity(**{key: value for key, value in first.items() if value not in (None, [], {})})
    after = ingested(state, sent, override=override)
    held, left = curated(values(after)), parts(values(after))
    for path, value in curated(values(state)).items():
        of_tag = "tag" in path
        if path[: -3 if of_tag else -1] not in left:
            assert "columns" in sent
        elif not override:
            assert held[path] == value
        elif not of_tag:
            assert path in held
    assert decide(ingest(after, sent, override=override), after) == []


def lists_of_parts(struct: type[msgspec.Struct], above: str = "") -> Iterator[str]:
    """The dotted paths below which a Struct holds named parts, as its types say."""
    hints = get_type_hints(struct)
    for field in msgspec.structs.fields(struct):
        for leaf in leaves(hints[field.name]):
            if issubclass(leaf, NamedPart):
                yield above + field.encode_name
            elif issubclass(leaf, Part):
                yield from lists_of_parts(leaf, f"{above}{field.encode_name}.")


def leaves(hint: Any) -> set[type]:
    """The classes inside a type."""
    inner = get_args(hint)
    if inner:
        return set().union(*map(leaves, inner))
    return {hint} if isinstance(hint, type) else set()


@pytest.mark.parametrize("kind", ROWS, ids=lambda kind: kind.name)
def test_no_named_parts_are_forgotten(kind: EntityKind) -> None:
    # What dbt says of the columns of a table is written by dbt alone.
    others = {"dataModel.columns"} if kind.name == "table" else set()
    assert set(lists_of_parts(kind.body)) - others == set(kind.body.parts)
