"""Artifacts that dbt 1.11.16 wrote of `project`, without macros, SQL and paths."""

import json
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parent / "project"
_ARTIFACTS = Path(__file__).parent / "artifacts"
Artifact = dict[str, Any]


def artifact(name: str) -> Artifact:
    """A recorded artifact, by the name of its file."""
    found: Artifact = json.loads((_ARTIFACTS / f"{name}.json").read_bytes())
    return found


def run(name: str, generated_at: str) -> bytes:
    """Recorded results of a run, as of another time: old ones are not kept."""
    found = artifact(name)
    found["metadata"]["generated_at"] = generated_at
    return json.dumps(found).encode()


def packed(value: Any) -> bytes:
    return json.dumps(value).encode()
