"""The clients of a history: random writes on few names, so that they meet each other."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from benchmarks.direct_catalog import DirectCatalog, Outcome
from benchmarks.histories.hosts import Host
from benchmarks.histories.record import Json, Record, Write
from benchmarks.histories.scheduling import Schedule, point
from domain.aggregate.entity import Entity
from domain.errors import CatalogError, OutcomeUnknown, StoreUnavailable
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import KINDS
from domain.write_context import WriteContext
from domain.writing.entity_cache import ByName

_GLOSSARIES = ("g0", "g1")
_TERMS = ("t0", "t1")
_TEXTS = ("one", "two", "three")
"""Texts that are written again and again, so that some writes change nothing."""
_ATTEMPTS = 5
"""Number of times that a request with a key is sent at most."""
_NEW_NAMES = {"glossary": ("g0", "g1", "g2"), "glossaryTerm": ("t0", "t1", "t2")}
"""Kind -> names that its entities are given by renames."""
_ACTIONS = ("create", "put", "patch", "delete", "restore", "purge")

Call = Callable[[DirectCatalog, WriteContext], Outcome]


@dataclass
class Request:
    """A write, as a client sends it and sends it again."""

    what: str
    call: Call
    key: str | None = None
    expected_version: int | None = None
    is_repeated: bool = False
    grouped: bool = False
    sent: int = 0


class Writer:
    """A client that sends requests to one host, one after the other, whatever becomes of it."""

    def __init__(
        self,
        name: str,
        rng: random.Random,
        count: int,
        record: Record,
        schedule: Schedule,
        *,
        renames: bool,
    ) -> None:
        """`renames` is whether the client gives entities other names, too."""
        self.name = name
        self.left = count
        self._rng = rng
        self._renames = renames
        self._record = record
        self._schedule = schedule
        self._pending: Request | None = None
        """A request with a key whose outcome is not known, to be sent again."""
        self._sent = 0

    def write(self, host: Host) -> None:
        """Send the requests that are left; called again on the host that takes the place."""
        while self.left:
            self.left -= 1
            request = self._pending or self._request()
            self._pending = None
            self._send(host, request)
            point("next request")

    def _send(self, host: Host, request: Request) -> None:
        self._sent += 1
        self._schedule.requests += 1
        write = Write(
            actor=self.name,
            began=self._schedule.step,
            ended=1 << 60,
            request_id=f"{self.name}-{self._sent}",
            key=None if request.key is None else f"{self.name}/{request.key}",
            is_repeated=request.is_repeated,
            expected_version=request.expected_version,
        )
        self._record.writes.append(write)
        self._schedule.note(f"{self.name}: {write.request_id} = {request.what}")
        context = WriteContext(
            actor=self.name,
            request_id=write.request_id,
            idempotency_key=request.key,
            digest=request.what.encode(),
            expected_version=request.expected_version,
        )
        host.steps.grouped = request.grouped
        if request.key is not None and request.sent < _ATTEMPTS:
            request.sent += 1
            # Until an answer is there: who is killed meanwhile is asked again.
            request.is_repeated, self._pending = True, request
            self.left += 1
        try:
            outcome = request.call(host.catalog, context)
        except OutcomeUnknown as error:
            write.error = error.message
        except StoreUnavailable as error:
            write.outcome, write.error = "unavailable", error.message
        except CatalogError as error:
            write.outcome, write.error = "refused", f"{type(error).__name__}: {error.message}"
        else:
            write.outcome, write.position = "stored", outcome.position
            write.change, write.entity = outcome.change.value, _as_json(outcome.entity)
        write.ended = self._schedule.step
        self._schedule.note(
            f"{self.name}: {write.request_id} {write.outcome} {write.change}"
            f"{write.position or ''} {write.error}"
        )
        if self._pending is not None and write.outcome in ("stored", "refused"):
            again = write.outcome == "stored" and self._rng.random() < 0.2
            self._pending = request if again else None
            self.left -= not again

    def _request(self) -> Request:
        rng = self._rng
        kind, fqn, parent = self._target()
        form: Json = {"name": fqn.rpartition(".")[2], **parent}
        text = rng.choice((*_TEXTS, f"{self.name} {self._sent}"))
        likely = (1, 5, 9, 2, 2, 1) if self._answered(fqn) else (3, 5, 1, 0, 0, 0)
        action = rng.choices(_ACTIONS, likely)[0]
        if self._renames and self._answered(fqn) and rng.random() < 0.3:
            action = "rename"
        if action in ("create", "put"):
            values = {**form, "description": text}
            if rng.random() < 0.3:
                values["displayName"] = rng.choice(_TEXTS)
            request = Request(f"{action} {fqn} {values}", _putting(action, kind, values))
        elif action in ("patch", "rename"):
            patch = self._patch(kind, text)
            if action == "rename":
                name = rng.choice(_NEW_NAMES[kind.name])
                patch.append({"op": "replace", "path": "/name", "value": name})
            request = Request(
                f"patch {fqn} {patch}",
                lambda catalog, context: catalog.patch(kind, ByName(fqn), patch, context),
            )
        elif action == "restore":
            request = self._restoring(kind, fqn)
        else:
            hard = action == "purge"
            request = Request(
                f"{action} {fqn}",
                lambda catalog, context: catalog.delete(
                    kind, ByName(fqn), context, hard=hard, recursive=True
                ),
            )
        if rng.random() < 0.3:
            request.key = f"k{self._sent}"
        if rng.random() < 0.2 and action != "create":
            answered = self._answered(fqn)
            request.expected_version = answered[-1]["version"] if answered else None
        request.grouped = rng.random() < 0.5
        return request

    def _target(self) -> tuple[EntityKind, str, Json]:
        glossary = self._rng.choice(_NEW_NAMES["glossary"] if self._renames else _GLOSSARIES)
        # Without a glossary there are no terms.
        if self._rng.random() < 0.5 or not self._answered(glossary):
            return KINDS["glossary"], glossary, {}
        return (
            KINDS["glossaryTerm"],
            f"{glossary}.{self._rng.choice(_TERMS)}",
            {"glossary": glossary},
        )

    def _patch(self, kind: EntityKind, text: str) -> list[Mapping[str, Any]]:
        choices: list[list[Mapping[str, Any]]] = [
            [{"op": "add", "path": "/displayName", "value": text}],
            [{"op": "remove", "path": "/displayName"}],
            [{"op": "replace", "path": "/description", "value": text}],
            [{"op": "replace", "path": "/description", "value": text}],
        ]
        if kind.name == "glossaryTerm":
            choices.append([{"op": "add", "path": "/synonyms/-", "value": text}])
            choices.append([{"op": "remove", "path": "/synonyms/0"}])
        return self._rng.choice(choices)

    def _restoring(self, kind: EntityKind, fqn: str) -> Request:
        entity_id = self._rng.choice(self._answered(fqn))["id"]
        return Request(
            f"restore {fqn} {entity_id}",
            lambda catalog, context: catalog.restore(kind, entity_id, context),
        )

    def _answered(self, fqn: str) -> list[Json]:
        """The entities that anybody was answered for a name, the last one at the end."""
        return [w.entity for w in self._record.writes if w.entity.get("fqn") == fqn]


def _putting(action: str, kind: EntityKind, values: Json) -> Call:
    if action == "create":
        return lambda catalog, context: catalog.create(kind, values, context)
    return lambda catalog, context: catalog.put(kind, values, context)


def _as_json(entity: Entity) -> Json:
    """An entity as it was answered, with the keys that the model gives its states."""
    return {
        "id": entity.id,
        "kind": entity.kind,
        "name": entity.name,
        "fqn": entity.fqn,
        "parent": entity.parent_id,
        "body": {key: msgspec.json.decode(raw) for key, raw in entity.body.items()},
        "version": entity.version,
        "stream": entity.stream_version,
        "deleted": entity.deleted,
        "purged": entity.purged,
        "former": [*entity.former_names],
    }
