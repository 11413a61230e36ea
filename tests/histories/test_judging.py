"""The model of histories notices each kind of wrong; one that never did would prove nothing."""

from typing import Any

import pytest

from benchmarks.histories.judging import Ending, judge
from benchmarks.histories.record import Head, Json, Loss, Read, Record, Row, Stream, View, Write


def event(position: int, entity_id: str, stream: int, what: str, **fields: Any) -> Row:
    payload = {
        "kind": "glossary",
        "actor": "ann",
        "at": position,
        "version": stream,
        "requestId": f"r{position}",
        **fields,
    }
    return position, entity_id, stream, f"entity.{what}", payload


def replaced(text: str) -> Json:
    return {"patch": [{"op": "replace", "path": "/description", "value": text}]}


CREATED = event(1, "a", 1, "created", name="g", fqn="g", body={"description": "one"})
CHANGED = event(2, "a", 2, "changed", **replaced("two"))
ROWS = [CREATED, CHANGED]
CLAIMS = [("glossary", "g", "a", False)]
STATE: Json = {
    "id": "a",
    "kind": "glossary",
    "name": "g",
    "fqn": "g",
    "former": [],
    "parent": None,
    "body": {"description": "two"},
    "version": 2,
    "stream": 2,
    "deleted": False,
    "purged": False,
}
ROW: Json = {
    "kind": "glossary",
    "name": "g",
    "fqn": "g",
    "deleted": False,
    "position": 2,
    "document": {
        "id": "a",
        "name": "g",
        "fullyQualifiedName": "g",
        "description": "two",
        "version": 0.2,
        "updatedAt": 2,
        "updatedBy": "ann",
    },
}


def asked(request_id: str, **told: Any) -> Write:
    values = {"actor": "ann", "began": 1, "ended": 2, "key": None, "is_repeated": False, **told}
    return Write(request_id=request_id, **values)


def stored(request_id: str, position: int, **told: Any) -> Write:
    values = {"outcome": "stored", "change": "entityUpdated", "entity": STATE, **told}
    return asked(request_id, position=position, **values)


def view(checkpoint: int, rows: dict[str, Json]) -> View:
    totals = {("glossary", False): len(rows)} if rows else {}
    return View(actor="b", began=1, ended=2, checkpoint=checkpoint, rows=rows, totals=totals)


def record(*writes: Write, **more: Any) -> Record:
    created = asked("r1", outcome="unknown")
    return Record(writes=[created, *(writes or [stored("r2", 2)])], **more)


def wrong(
    given: Record,
    rows: list[Row] = ROWS,
    last: View | None = None,
    claims: Any = CLAIMS,
    former: Any = (),
) -> list[str]:
    return judge(given, Ending(rows, claims, [*former], last))


def test_history_that_is_as_promised_is_not_blamed() -> None:
    given = record(
        reads=[Read(actor="b", began=1, ended=2, after=0, rows=ROWS)],
        streams=[Stream(actor="b", began=1, ended=2, entity_id="a", rows=ROWS)],
        heads=[Head(actor="b", began=1, ended=2, position=2)],
    )
    assert wrong(given, last=view(2, {"a": ROW})) == []


OTHER = event(2, "a", 2, "changed", requestId="r3", **replaced("three"))
BLAMED: list[tuple[str, Record, list[Row]]] = [
    ("is stored at 2, and the log has it at []", record(), [CREATED]),
    ("with version 2 of a, and the log has 1 of them", record(), [CREATED]),
    (
        "and the log has {'kind': 'glossary'",
        record(stored("r2", 2, change="entityNoChange"), asked("r3")),
        [CREATED, OTHER],
    ),
    (
        "was told that r2 was not stored (busy), and it is in the log at [2]",
        record(asked("r2", outcome="refused", error="busy")),
        ROWS,
    ),
    ("nobody has asked for r2", record(asked("r9")), ROWS),
    (
        "r2 is in the log twice",
        record(asked("r2")),
        [*ROWS, event(3, "a", 3, "changed", requestId="r2", **replaced("two"))],
    ),
    (
        "the write under key k was stored for each of ['r2', 'r3']",
        record(asked("r2", key="k"), asked("r3", key="k")),
        [*ROWS, event(3, "a", 3, "changed", **replaced("two"))],
    ),
    (
        "read ['1:a/1', '2:a/2'] after 0, and the log has ['1:a/1', '2:a/2']: ",
        record(
            asked("r3"),
            reads=[Read(actor="b", began=1, ended=2, after=0, rows=ROWS)],
        ),
        [CREATED, OTHER],
    ),
    (
        "read ['2:a/2'] after 0, and the log has ['1:a/1', '2:a/2']",
        record(reads=[Read(actor="b", began=1, ended=2, after=0, rows=[CHANGED])]),
        ROWS,
    ),
    (
        "read the stream ['1:a/1', '2:a/2'], and the log has ['1:a/1']",
        record(
            asked("r9"), streams=[Stream(actor="b", began=1, ended=2, entity_id="a", rows=ROWS)]
        ),
        [CREATED],
    ),
    (
        "was told of head 3, and the head is 2",
        record(heads=[Head(actor="b", began=1, ended=2, position=3)]),
        ROWS,
    ),
    (
        "the log cannot be folded: position 2, entity.changed 2 of a: ",
        record(asked("r2")),
        [CREATED, event(2, "a", 2, "changed", patch=[{"op": "remove", "path": "/displayName"}])],
    ),
    (
        "the log cannot be folded: position 2, entity.changed 3 of a: the stream goes on with 2",
        record(asked("r2")),
        [CREATED, event(2, "a", 3, "changed", **replaced("two"))],
    ),
    (
        "'position': 1",
        record(views=[view(1, {"a": ROW})]),
        ROWS,
    ),
    ("a read model was at 3, where the log has no event", record(views=[view(3, {})]), ROWS),
]


@pytest.mark.parametrize(("blame", "given", "rows"), BLAMED)
def test_history_that_breaks_a_promise_is_blamed(
    blame: str, given: Record, rows: list[Row]
) -> None:
    assert [line for line in wrong(given, rows) if blame in line]


def test_names_that_are_not_those_of_the_events_are_blamed() -> None:
    assert wrong(record(), claims=[]) != []


RENAMED = event(2, "a", 2, "renamed", name="h", fqn="h")
ABOVE = {"id": "a", "type": "glossary", "name": "g", "fullyQualifiedName": "g"}
BELOW = event(
    3, "b", 1, "created", name="t", fqn="g.t", parentId="a", body={"glossary": ABOVE}, kind="term"
)


@pytest.mark.parametrize(
    ("blame", "rows", "former"),
    [
        ("former names are [], and the events say [('glossary', 'g', 'a')]", [RENAMED], []),
        ("former names are [('glossary', 'x', 'a')], and the events say []", [CHANGED], ["x"]),
        ("b is called g.t, and its parent makes it h.t", [RENAMED, BELOW], ["g"]),
        ("b refers to {'id': 'a', ", [RENAMED, BELOW], ["g"]),
        (
            "several entities have, or had, the names [('glossary', 'g')]",
            [RENAMED, event(3, "c", 1, "created", name="g", fqn="g", body={})],
            ["g"],
        ),
        (
            "the log cannot be folded: position 2, entity.renamed 2 of a: the entity has this name",
            [event(2, "a", 2, "renamed", name="g", fqn="g")],
            [],
        ),
    ],
)
def test_wrong_names_after_a_rename_are_blamed(
    blame: str, rows: list[Row], former: list[str]
) -> None:
    names = [("glossary", fqn, "a") for fqn in former]
    assert [line for line in wrong(record(), [CREATED, *rows], former=names) if blame in line]


def test_read_model_that_does_not_come_to_the_end_is_blamed() -> None:
    assert wrong(record(), last=view(0, {})) == ["the read model is at 0, and the log at 2"]


@pytest.mark.parametrize("ended", [2, 9])
def test_what_an_operator_took_away_is_not_asked_for(ended: int) -> None:
    """The write and the read ended before an older copy came, or were under way when it came."""
    given = record(
        stored("r2", 2, ended=ended),
        reads=[Read(actor="b", began=1, ended=ended, after=0, rows=ROWS)],
        losses=[Loss(step=5, head=1)],
    )
    assert wrong(given, [CREATED]) == []


def test_what_is_told_after_an_older_copy_came_is_asked_for() -> None:
    given = record(stored("r2", 2, began=6, ended=7), losses=[Loss(step=5, head=1)])
    assert len(wrong(given, [CREATED])) == 2
