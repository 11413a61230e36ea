"""Changes of an entity, as far as a caller may see them."""

from typing import Any

import msgspec

from domain.reading.timeline import TimelineChange
from projections.visibility.withholding import Withheld


def is_withheld(withheld: Withheld, change: TimelineChange) -> bool:
    """True if all that a change changes is withheld."""
    if withheld.covers(".".join(change.keys)):
        return True
    if change.sort != "updated":
        return False
    shown = []
    for value in (change.old, change.new):
        whole: Any = value
        for key in reversed(change.keys):
            whole = {key: whole}
        shown.append(withheld.cut(msgspec.json.encode(whole)))
    return shown[0] == shown[1]
