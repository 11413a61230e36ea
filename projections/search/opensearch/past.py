"""Searches of an index in a cluster as of a position: those of the states that held there.

Documents of replaced states stand in the index of the current ones, and come and go with them in
one commit. They have the fields that `EVER` names, so a search that looks at these finds both.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from domain.errors import StoreUnavailable
from domain.reading.horizon import Horizon
from projections.feeding.port import Damaged
from projections.search.opensearch.leaves import Dsl
from projections.search.opensearch.mapping import EVER


def as_of(body: Dsl, position: int) -> Dsl:
    """A search of the states that held at a position, in place of the current ones."""
    made: Dsl = _of_all_states(body)
    made["query"] = {
        "bool": {
            "must": [made["query"]],
            "filter": [{"range": {"since": {"lte": position}}}],
            # Current states have no `until`.
            "must_not": [{"range": {"until": {"lte": position}}}],
        }
    }
    return made


def _of_all_states(clause: Any) -> Any:
    """The clause about the fields of `EVER`, which documents of replaced states have, too."""
    if isinstance(clause, Mapping):
        return {
            EVER.get(key, key): EVER.get(value, value) if key == "field" else _of_all_states(value)
            for key, value in clause.items()
        }
    return [*map(_of_all_states, clause)] if isinstance(clause, list) else clause


def newest_commit(search: Callable[[Dsl], Mapping[str, Any]], position: int) -> tuple[int, Horizon]:
    """The position of the commit that searches see, `position` if it is the same, and its horizon.

    Raises StoreUnavailable where they see a part of a next one beside it, as they may where a node
    was killed in the middle of a commit, until the commit is made again: what it replaces would be
    found twice, or not at all. Raises Damaged for an index without a commit.
    """
    newer = [{"range": {field: {"gt": position}}} for field in ("since", "until")]
    body = {
        "query": {"bool": {"should": [{"exists": {"field": "position"}}, *newer]}},
        "sort": [{"position": "desc"}],
        "size": 2,
        "track_total_hits": False,
        "_source": False,
        "stored_fields": ["horizon"],
    }
    hits = search(body)["hits"]["hits"]
    (newest,) = hits[0]["sort"] if hits else (None,)
    if newest is None:
        raise Damaged("the search index has no checkpoint")
    if newest == position and len(hits) > 1:
        raise StoreUnavailable(
            f"a part of the commit after position {position} is seen: try again once it is whole"
        )
    (horizon,) = hits[0]["fields"]["horizon"]
    return newest, msgspec.json.decode(horizon, type=Horizon)
