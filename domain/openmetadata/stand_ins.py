"""What is shown in place of keys that OpenMetadata's client insists on and nobody recorded.

The client refuses a whole entity, or a whole page, without them. They are shown, never recorded.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

_NO_MAIL = "example.org"
"""Reserved by RFC 2606, so that a made-up address never reaches anybody."""
_MAILBOX = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*", re.IGNORECASE)
_MAX_MAILBOX = 64
_DESCRIBED = {"description": ""}

_STAND_INS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "domain": _DESCRIBED,
        "dataProduct": _DESCRIBED,
        "classification": _DESCRIBED,
        "tag": _DESCRIBED,
        "glossary": _DESCRIBED,
        "glossaryTerm": _DESCRIBED,
        "table": {"columns": []},
        "storedProcedure": {"storedProcedureCode": {}},
        "dashboardDataModel": {"columns": []},
        "mlmodel": {"algorithm": "mlmodel"},
        "searchIndex": {"fields": []},
    }
)
"""Kind -> the keys that its entities cannot be read without, and what is shown for each."""


def stand_ins(kind: str, name: str) -> Mapping[str, Any]:
    """The keys that an entity of this kind and name cannot be read without, and their values."""
    if kind == "user":
        fit = _MAILBOX.fullmatch(name) and len(name) <= _MAX_MAILBOX
        return {"email": f"{name if fit else 'unknown'}@{_NO_MAIL}"}
    return _STAND_INS.get(kind, {})


def insisted_keys(kind: str) -> tuple[str, ...]:
    """The keys that an entity of this kind cannot be read without, and may not have recorded."""
    return tuple(stand_ins(kind, "x"))
