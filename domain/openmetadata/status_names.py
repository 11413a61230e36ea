"""Statuses of contracts under the names that OpenMetadata's newer clients know.

They have `Approved` where this catalog has `Active`, and no `Active`. Requests below `/api/v1` say
and are told `Approved`; nothing else of the catalog knows of it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw

from domain.aggregate.entity import STATUS
from domain.errors import InvalidInput
from domain.events import Body, values_by_key
from domain.kinds.entity_kind import FORMER_NAMES, EntityKind
from domain.patches.json_patch import Operation

_FORMER = b'"%b":' % FORMER_NAMES.encode()
_CHANGES = "changeDescription"
_POINTER = f"/{STATUS}"
_CHANGED = ("fieldsAdded", "fieldsUpdated", "fieldsDeleted")
_VALUES = ("oldValue", "newValue")
_encode = msgspec.json.encode


class StatusNames(msgspec.Struct, frozen=True):
    """The names that a caller has for statuses; a status without one keeps its own."""

    names: tuple[tuple[str, str], ...] = ()
    """Statuses, each with the name that it has instead."""

    def __bool__(self) -> bool:
        """True if any status has another name."""
        return bool(self.names)

    def name(self, status: str) -> str:
        """The caller's name of a status."""
        return next((name for each, name in self.names if each == status), status)

    def status(self, name: str) -> str:
        """The status behind a caller's name; other names are returned as they are."""
        return next((status for status, named in self.names if named == name), name)

    def known(self, kind: EntityKind) -> tuple[str, ...]:
        """The caller's names of the statuses of a kind, the default first."""
        return tuple(map(self.name, kind.statuses))

    def check(self, kind: EntityKind, name: str, given: object) -> str:
        """The status of a kind that is given at a place called `name`; raises InvalidInput."""
        status = self.status(given) if isinstance(given, str) else None
        if status is None or status not in kind.statuses:
            allowed = ", ".join(self.known(kind))
            raise InvalidInput(f"{name} must be one of {allowed}, got {str(given)[:64]!r}")
        return status

    # What a caller is told

    def shown(self, kind: EntityKind, entity_json: bytes) -> bytes:
        """The JSON of an entity of a kind as the caller reads it.

        A caller with other names gets no former names either: OpenMetadata's client would refuse
        the whole entity for a key that it does not know.
        """
        if self and kind.renamable and _FORMER in entity_json:
            shown = values_by_key(entity_json)
            return _encode({key: raw for key, raw in shown.items() if key != FORMER_NAMES})
        if not kind.statuses or not any(map(entity_json.__contains__, self._quoted)):
            return entity_json
        shown = values_by_key(entity_json)
        if STATUS in shown:
            shown[STATUS] = self._raw(shown[STATUS])
        if _CHANGES in shown:
            described = msgspec.json.decode(shown[_CHANGES])
            for change in (each for key in _CHANGED for each in described[key]):
                if change["name"] == STATUS:
                    change.update({key: self.name(change[key]) for key in _VALUES if key in change})
            shown[_CHANGES] = Raw(_encode(described))
        return _encode(shown)

    def shown_body(self, kind: EntityKind, body: Body) -> Body:
        """The recorded body of an entity of a kind as the caller reads it."""
        return (
            {**body, STATUS: self._raw(body[STATUS])} if kind.statuses and STATUS in body else body
        )

    def shown_patch(self, kind: EntityKind, patch: Sequence[Operation]) -> list[Operation]:
        """The recorded changes of an entity of a kind as the caller reads them."""
        return [
            {**each, "value": self.name(each["value"])}
            if kind.statuses and each["path"] == _POINTER and "value" in each
            else each
            for each in patch
        ]

    def _raw(self, status: Raw) -> Raw:
        return Raw(_encode(self.name(msgspec.json.decode(status, type=str))))

    @property
    def _quoted(self) -> list[bytes]:
        return [_encode(status) for status, _ in self.names]

    # What a caller says

    def said(self, kind: EntityKind, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """The values of a body as the catalog takes them; raises InvalidInput for its status."""
        if not (self and kind.statuses) or values.get(STATUS) is None:
            return values
        return {**values, STATUS: self.check(kind, STATUS, values[STATUS])}

    def patch(self, kind: EntityKind, patch: Sequence[Operation]) -> list[Operation]:
        """The operations of a JSON Patch as the catalog takes them; raises InvalidInput.

        One may give the status, or the whole entity.
        """
        if not (self and kind.statuses):
            return list(patch)
        taken = []
        for operation in patch:
            value = operation.get("value")
            if operation.get("path") == _POINTER and value is not None:
                operation = {**operation, "value": self.check(kind, STATUS, value)}
            elif operation.get("path") == "" and isinstance(value, dict):
                operation = {**operation, "value": self.said(kind, value)}
            taken.append(operation)
        return taken


OWN = StatusNames()
"""The catalog's own names of statuses."""
OPENMETADATA = StatusNames((("Active", "Approved"),))
"""The names that OpenMetadata's newer clients have for statuses."""
