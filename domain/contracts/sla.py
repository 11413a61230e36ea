"""`slaProperties` of a document, and the SLA of a contract."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, get_args

from domain.contracts.canonical import Document
from domain.contracts.elements import Element, append, elements, remove, text
from domain.kinds.bodies.enumerations import Timezone

UNITS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("min", "minute", "minutes"), "minute"),
        **dict.fromkeys(("h", "hr", "hour", "hours"), "hour"),
        **dict.fromkeys(("d", "day", "days"), "day"),
        **dict.fromkeys(("w", "week", "weeks"), "week"),
        **dict.fromkeys(("mo", "month", "months"), "month"),
        **dict.fromkeys(("y", "yr", "year", "years"), "year"),
    }
)
"""Spelling of a unit of time -> the unit."""


class _Promise:
    """A time of an SLA, and the properties that say it."""

    def __init__(self, key: str, number: str, units: tuple[str, ...], *names: str) -> None:
        self.key = key
        """Key of the SLA."""
        self.number = number
        """Key of the number inside."""
        self.units = units
        self.names = names
        """Names of the property; the first is written where there is none."""


_LONG = ("day", "week", "month", "year")
_PROMISES = (
    _Promise(
        "refreshFrequency",
        "interval",
        ("hour", *_LONG),
        "frequency",
        "refreshFrequency",
        "freshness",
    ),
    _Promise("maxLatency", "value", ("minute", "hour", "day"), "latency", "maxLatency"),
    _Promise("retention", "period", _LONG, "retention"),
)
_TIME = ("timeOfAvailability", "availabilityTime")
_ZONES = frozenset(get_args(Timezone))


def read_sla(document: Document) -> dict[str, Any]:
    """The SLA by the properties of a document; the first property of a sort counts."""
    sla: dict[str, Any] = {}
    for promise in _PROMISES:
        if (held := _find(document, promise.names)) is not None:
            number, unit = _whole(held.get("value")), UNITS.get(str(held.get("unit")).lower())
            if number is not None and unit in promise.units:
                sla[promise.key] = {promise.number: number, "unit": unit}
                _read_element(sla, held)
    if (held := _find(document, _TIME)) is not None and (time := text(held, "value")):
        sla["availabilityTime"] = time
        if (zone := text(held, "valueExt")) in _ZONES:
            sla["timezone"] = zone
        _read_element(sla, held)
    return sla


def unread_levels(document: Document) -> list[str]:
    """The names of the service levels that a document promises and `read_sla` takes nothing from.

    `slaProperties` stands for those without a name.
    """
    held = document.get("slaProperties")
    if not held:
        return []
    if not isinstance(held, list):
        return ["slaProperties"]
    sla = read_sla(document)
    sorts = {each.key: each.names for each in _PROMISES} | {"availabilityTime": _TIME}
    read = [_find(document, names) for key, names in sorts.items() if key in sla]
    return [
        (text(each, "property") if isinstance(each, dict) else None) or "slaProperties"
        for each in held
        if not any(each is one for one in read)
    ]


def write_sla(document: Document, old: dict[str, Any], new: dict[str, Any]) -> None:
    """Change the properties to say `new` where they said `old`."""
    moved = old.get("columnName") != new.get("columnName")
    for promise in _PROMISES:
        value = new.get(promise.key)
        if moved or old.get(promise.key) != value:
            _write(
                document,
                promise.names,
                {"value": value[promise.number], "unit": value["unit"]} if value else None,
                new.get("columnName"),
                moved=moved,
            )
    times = [{key: sla.get(key) for key in ("availabilityTime", "timezone")} for sla in (old, new)]
    if moved or times[0] != times[1]:
        time, zone = times[1].values()
        said = {"value": time, **({"valueExt": zone} if zone else {})} if time else None
        _write(document, _TIME, said, new.get("columnName"), moved=moved)


def _find(document: Document, names: tuple[str, ...]) -> Element | None:
    lower = [name.lower() for name in names]
    for each in elements(document, "slaProperties"):
        if str(each.get("property")).lower() in lower:
            return each
    return None


def _whole(value: Any) -> int | None:
    """The whole number of 64 bits that a value is, or writes."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return value if is_whole and abs(value) < 2**63 else None


def _read_element(sla: dict[str, Any], held: Element) -> None:
    if "columnName" not in sla and (element := text(held, "element")) and "," not in element:
        sla["columnName"] = element.rpartition(".")[2] or element


def _write(
    document: Document,
    names: tuple[str, ...],
    said: Element | None,
    column: str | None,
    *,
    moved: bool,
) -> None:
    held = _find(document, names)
    if said is None:
        if held is not None:
            remove(document, "slaProperties", held)
        return
    if held is None:
        held = {"property": names[0]}
        append(document, "slaProperties", held)
        if column:
            held["element"] = column
    elif moved:
        if column:
            held["element"] = column
        else:
            held.pop("element", None)
    held.update(_edited(held, said))


def _edited(held: Element, said: Element) -> Element:
    """The values that a property does not say yet, in the spelling of the property."""
    edited = dict(said)
    if isinstance(said["value"], int):
        if _whole(held.get("value")) == said["value"]:
            del edited["value"]
        elif isinstance(held.get("value"), str):
            edited["value"] = str(said["value"])
    if "unit" in said and UNITS.get(str(held.get("unit")).lower()) == said["unit"]:
        del edited["unit"]
    return edited
