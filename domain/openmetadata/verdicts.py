"""Verdicts on contracts as answers show them.

A verdict may have a moment from which on time alone makes it another one: from then on it reads
Unknown, until the contract is judged again.
"""

from typing import Literal

import msgspec
from msgspec import UNSET, Raw, UnsetType
from msgspec.structs import replace

from domain.aggregate.lifecycle import format_version
from domain.events import ContractJudged, values_by_key
from domain.machine import clock

KEY = "verdict"
"""The field, the list parameter, and the beginning of the scopes of contracts by verdict."""
VERDICTS = ("Success", "PartialSuccess", "Failed", "Unknown")
UNKNOWN: Literal["Unknown"] = "Unknown"
"""The verdict on a contract that nothing is known of, or whose time it is not."""
_MOMENT = b'"validUntil":'


class Verdict(msgspec.Struct, frozen=True, rename="camel"):
    """The verdict on a contract, without its reasons, which tell of all of its entity."""

    status: Literal["Success", "PartialSuccess", "Failed", "Unknown"]
    version: Raw | UnsetType = UNSET
    """The version of the contract that was judged."""
    judged_at: int | UnsetType = UNSET
    """Milliseconds since 1970."""
    valid_until: int | UnsetType = UNSET
    """Milliseconds since 1970."""


def shown_verdict(judged: ContractJudged | None, version: int) -> Verdict:
    """The verdict on a contract that is at a version, in tenths: one on another is none on it."""
    if judged is None or judged.version != version:
        return Verdict(UNKNOWN)
    return Verdict(
        msgspec.convert(judged.verdict, Literal["Success", "PartialSuccess", "Failed", "Unknown"]),
        Raw(format_version(judged.version).encode()),
        judged.at,
        UNSET if judged.valid_until is None else judged.valid_until,
    )


def verdict_now(judged: ContractJudged | None, version: int) -> Verdict:
    """The verdict as it reads now; see `shown_verdict`."""
    return _read_at(shown_verdict(judged, version))


def as_it_reads(optional: bytes, now: int | None = None) -> bytes:
    """The JSON object of the optional fields of an entity, with a verdict as it reads.

    `now` is in milliseconds since the Unix epoch; the present where it is None.
    """
    if _MOMENT not in optional:
        return optional
    held = values_by_key(optional)
    if (raw := held.get(KEY)) is None:
        return optional
    held[KEY] = Raw(msgspec.json.encode(_read_at(msgspec.json.decode(raw, type=Verdict), now)))
    return msgspec.json.encode(held)


def changes_by_itself(body: bytes) -> bool:
    """True if a JSON text shows a verdict that time alone ends."""
    return _MOMENT in body


def _read_at(verdict: Verdict, now: int | None = None) -> Verdict:
    now = clock.now() if now is None else now
    if verdict.valid_until is UNSET or now < verdict.valid_until:
        return verdict
    return replace(verdict, status=UNKNOWN)
