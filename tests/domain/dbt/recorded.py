"""Artifacts that dbt 1.11.16 wrote of `project`, without macros, SQL and paths."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from tests.domain.json_values import values

PROJECT = Path(__file__).parent / "project"
_ARTIFACTS = Path(__file__).parent / "artifacts"
Artifact = dict[str, Any]


def artifact(name: str) -> Artifact:
    """A recorded artifact, by the name of its file."""
    found: Artifact = json.loads((_ARTIFACTS / f"{name}.json").read_bytes())
    return found


def run(name: str, generated_at: str, invocation: str | None = None) -> bytes:
    """Recorded results of a run, as of another time: old ones are not kept.

    Their invocation is by default that of the recorded manifest.
    """
    found = artifact(name)
    found["metadata"]["generated_at"] = generated_at
    own = artifact("manifest")["metadata"]["invocation_id"]
    found["metadata"]["invocation_id"] = own if invocation is None else invocation
    return json.dumps(found).encode()


def packed(value: Any) -> bytes:
    return json.dumps(value).encode()


def damage(draw: Callable[[st.SearchStrategy[Any]], Any], holder: Any) -> None:
    """Put any JSON value in the place of one that stands somewhere inside a mapping or list."""
    while True:
        places = [*holder] if isinstance(holder, dict) else [*range(len(holder))]
        place = draw(st.sampled_from(places))
        inner = holder[place]
        if not isinstance(inner, dict | list) or not inner or draw(st.booleans()):
            holder[place] = draw(values)
            return
        holder = inner
