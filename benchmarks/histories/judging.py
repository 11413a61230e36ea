"""Holds what the actors of a history were told against the log that is there in the end.

Nothing acknowledged is lost, nothing that was read vanishes, all see one order, and every read
model is what a replay of the log gives at its checkpoint. See `Record.is_binding` for what an
operator who puts an older database in place takes away.
"""

from collections import Counter
from collections.abc import Iterator

from benchmarks.histories.folding import Unfoldable, document, fold
from benchmarks.histories.record import Claimed, Former, Json, Record, Row, View, Write

_SAME = (
    "kind",
    "name",
    "fqn",
    "former",
    "parent",
    "body",
    "version",
    "stream",
    "deleted",
    "purged",
)
"""Keys of a state that an answer to a write shows."""


class Ending:
    """End of a history: the log, the claims on names, and the read model that caught up."""

    def __init__(
        self, rows: list[Row], claims: list[Claimed], former: list[Former], view: View | None
    ) -> None:
        self.rows = rows
        self.claims = claims
        self.former = former
        self.view = view
        self.head = rows[-1][0] if rows else 0


def judge(record: Record, ending: Ending) -> list[str]:
    """Return the faults of a history, a sentence for each; none when it is as promised."""
    wrong = [*record.broken]
    try:
        states = fold(ending.rows)
    except Unfoldable as error:
        wrong.append(f"the log cannot be folded: {error}")
    else:
        wrong += _wrong_log(ending, states)
        wrong += _wrong_views(record, ending)
        wrong += _wrong_answers(record, ending)
    wrong += _wrong_requests(record, ending)
    wrong += _vanished(record, ending)
    return wrong


def _wrong_log(ending: Ending, states: dict[str, Json]) -> Iterator[str]:
    positions = [row[0] for row in ending.rows]
    if positions != sorted(set(positions)):
        yield f"positions do not ascend: {positions}"
    there = {entity_id: state for entity_id, state in states.items() if not state["purged"]}
    expected = sorted((s["kind"], s["fqn"], each, s["deleted"]) for each, s in there.items())
    if expected != sorted(ending.claims):
        yield f"names are claimed by {sorted(ending.claims)}, and the events say {expected}"
    formerly = sorted((s["kind"], fqn, each) for each, s in there.items() for fqn in s["former"])
    if formerly != sorted(ending.former):
        yield f"former names are {sorted(ending.former)}, and the events say {formerly}"
    leading = Counter(name[:2] for name in (*expected, *formerly))
    if twice := [name for name, count in leading.items() if count > 1]:
        yield f"several entities have, or had, the names {twice}"
    for entity_id, state in there.items():
        yield from _wrong_names(entity_id, state, there)
        parent = there.get(state["parent"] or entity_id)
        if parent is None:
            yield f"{state['fqn']} ({entity_id}) is there, and its parent is purged"
        elif parent["deleted"] and not state["deleted"]:
            yield f"{state['fqn']} ({entity_id}) is live below a parent that is soft-deleted"


def _wrong_names(entity_id: str, state: Json, there: dict[str, Json]) -> Iterator[str]:
    """Every name is made of that of the parent, and every reference has the name of its entity."""
    above = there.get(state["parent"] or "")
    expected = f"{above['fqn']}.{state['name']}" if above else state["name"]
    if state["fqn"] != expected:
        yield f"{entity_id} is called {state['fqn']}, and its parent makes it {expected}"
    named = state["body"].get("glossary")
    if named and (glossary := there.get(named["id"])):
        called = named["name"], named["fullyQualifiedName"]
        if called != (glossary["name"], glossary["fqn"]):
            yield f"{entity_id} refers to {named}, and that is called {glossary['fqn']}"


def _wrong_views(record: Record, ending: Ending) -> Iterator[str]:
    last = ending.view
    if last is not None and last.checkpoint != ending.head:
        yield f"the read model is at {last.checkpoint}, and the log at {ending.head}"
    for view in [*record.views, *([last] if last else [])]:
        if not record.is_binding(view, view.checkpoint):
            continue
        upto = [row for row in ending.rows if row[0] <= view.checkpoint]
        if view.checkpoint and (not upto or upto[-1][0] != view.checkpoint):
            yield f"a read model was at {view.checkpoint}, where the log has no event"
            continue
        states = {each: s for each, s in fold(upto).items() if not s["purged"]}
        rows = {entity_id: _stored(entity_id, state) for entity_id, state in states.items()}
        for entity_id in sorted(rows.keys() | view.rows.keys()):
            if rows.get(entity_id) != view.rows.get(entity_id):
                shown, replayed = _differences(view.rows.get(entity_id), rows.get(entity_id))
                yield (
                    f"the read model of {view.actor} at {view.checkpoint} has of {entity_id}"
                    f" {shown}, and a replay {replayed}"
                )
        totals = Counter((state["kind"], state["deleted"]) for state in states.values())
        if totals != view.totals:
            yield f"lists of {view.actor} count {view.totals} at {view.checkpoint}, not {totals}"


def _differences(shown: Json | None, replayed: Json | None) -> tuple[Json | None, Json | None]:
    """The parts of two rows that are not the same."""
    if shown is None or replayed is None:
        return shown, replayed
    keys = [key for key in shown.keys() | replayed.keys() if shown.get(key) != replayed.get(key)]
    first = {key: shown.get(key) for key in sorted(keys)}
    return first, {key: replayed.get(key) for key in first}


def _stored(entity_id: str, state: Json) -> Json:
    columns = {key: state[key] for key in ("kind", "name", "fqn", "deleted", "position")}
    return {**columns, "document": document(entity_id, state)}


def _wrong_answers(record: Record, ending: Ending) -> Iterator[str]:
    """Compare the answer of each write with what the log says of the entity there."""
    for write in record.writes:
        if write.outcome != "stored" or not record.is_binding(write, write.position):
            continue
        entity_id, stream = write.entity["id"], write.entity["stream"]
        rows = [row for row in ending.rows if row[1] == entity_id and row[0] <= write.position]
        states = fold(rows[:stream])
        state = states.get(entity_id, {"stream": 0})
        told = f"{write.actor} was answered {write.change} at {write.position} to"
        if state["stream"] != stream:
            yield (
                f"{told} {write.request_id} with version {stream} of {entity_id}, and the log"
                f" has {state['stream']} of them"
            )
        elif any(state[key] != write.entity[key] for key in _SAME):
            yield f"{told} {write.request_id} with {write.entity}, and the log has {state}"
        elif write.expected_version is not None and write.change not in ("", "entityNoChange"):
            before = fold([row for row in rows[:stream] if row[4]["requestId"] != write.request_id])
            version = before.get(entity_id, {}).get("version")
            if not write.is_repeated and version != write.expected_version:
                yield f"{told} {write.request_id}, which expected {write.expected_version}"


def _wrong_requests(record: Record, ending: Ending) -> Iterator[str]:
    """Each request is in the log as often as its client was told, and all of it in one place."""
    stored: dict[str, list[Row]] = {}
    for row in ending.rows:
        stored.setdefault(row[4]["requestId"], []).append(row)
    by_key: dict[str, list[str]] = {}
    for write in record.writes:
        own = stored.pop(write.request_id, [])
        positions = [row[0] for row in own]
        if positions != [*range(positions[0], positions[0] + len(own))] if own else False:
            yield f"{write.request_id} is in the log in parts, at {positions}"
        if len({(row[1], row[3]) for row in own}) != len(own):
            yield f"{write.request_id} is in the log twice, at {positions}"
        if write.key is not None and own:
            by_key.setdefault(write.key, []).append(write.request_id)
        yield from _wrong_place(record, write, positions)
    for key, requests in by_key.items():
        if len(requests) > 1:
            yield f"the write under key {key} was stored for each of {requests}"
    for request_id, own in stored.items():
        yield f"nobody has asked for {request_id}, which is in the log at {own[0][0]}"


def _wrong_place(record: Record, write: Write, positions: list[int]) -> Iterator[str]:
    if write.outcome in ("refused", "unavailable"):
        if positions:
            yield (
                f"{write.actor} was told that {write.request_id} was not stored"
                f" ({write.error}), and it is in the log at {positions}"
            )
    elif write.outcome == "stored" and record.is_binding(write, write.position):
        changes = write.change != "entityNoChange" and not write.is_repeated
        if changes and positions[-1:] != [write.position]:
            yield (
                f"{write.actor} was told that {write.request_id} ({write.change}) is stored at"
                f" {write.position}, and the log has it at {positions}"
            )


def _vanished(record: Record, ending: Ending) -> Iterator[str]:
    """Check that all that readers were given is still at its place, with nothing new before it."""
    for read in record.reads:
        shown = [row for row in read.rows if record.is_binding(read, row[0])]
        upto = shown[-1][0] if shown else read.after
        there = [row for row in ending.rows if read.after < row[0] <= upto]
        if shown != there:
            yield (
                f"{read.actor} read {_places(shown)} after {read.after}, and the log has"
                f" {_places(there)}{_differing(shown, there)}"
            )
    for stream in record.streams:
        shown = [row for row in stream.rows if record.is_binding(stream, row[0])]
        there = [row for row in ending.rows if row[1] == stream.entity_id][: len(shown)]
        if shown != there:
            yield (
                f"{stream.actor} read the stream {_places(shown)}, and the log has"
                f" {_places(there)}{_differing(shown, there)}"
            )
    for head in record.heads:
        if head.position > ending.head and record.is_binding(head, head.position):
            yield f"{head.actor} was told of head {head.position}, and the head is {ending.head}"


def _places(rows: list[Row]) -> str:
    return str([f"{position}:{entity_id[:8]}/{stream}" for position, entity_id, stream, *_ in rows])


def _differing(shown: list[Row], there: list[Row]) -> str:
    pairs = [pair for pair in zip(shown, there, strict=False) if pair[0] != pair[1]]
    return f": {pairs[0][0]} is {pairs[0][1]} there" if pairs else ""
