"""Docstrings can be read alone: none begins with a question word, as a sentence without a noun."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MODULES = [
    path
    for room in ("domain", "projections", "api", "replay_tool")
    for path in sorted((ROOT / room).rglob("*.py"))
]
QUESTIONS = ("What ", "Which ", "Whether ", "How ", "Who ", "Why ", "Where ", "When ")
PUBLIC = (
    "How many entities differ in all, by what became of them.",
    "What a connector does for a service or for the tests of a table.",
    "What a run has used.",
    "What a run means for the contracts of a service.",
    "What a step could not do.",
    "What a step of a workflow has done, by the keys of OpenMetadata's `StepSummary`.",
    "What a task has done, in numbers.",
    "What a value must be, for people.",
    "What became of an event.",
    "What became of the contract of a model.",
    "What became of the contracts of a manifest.",
    "What became of the events of a batch.",
    "What is wrong with it beside what is there already.",
    "What is wrong with the contract itself; of a document JSON path and fault of each",
    "What one request did.",
    "What the entity did, the newest first.",
    "What the run said.",
    "When and how often a scheduler runs the pipeline; this catalog runs none.",
)
"""Those of the OpenAPI document and of MCP's schemas, whose texts stay as clients know them."""


def texts(path: Path) -> list[str]:
    """The docstrings of a module, and the texts that stand below its names."""
    tree = ast.parse(path.read_text())
    values = [node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)]
    return [
        value.value
        for value in values
        if isinstance(value, ast.Constant) and isinstance(value.value, str)
    ]


@pytest.mark.parametrize("room", ["domain", "projections", "api", "replay_tool"])
def test_docstring_begins_with_no_question_word(room: str) -> None:
    begun = {
        f"{path.relative_to(ROOT)}: {text.splitlines()[0]}"
        for path in MODULES
        if path.relative_to(ROOT).parts[0] == room
        for text in texts(path)
        if text.startswith(QUESTIONS) and not text.startswith(PUBLIC)
    }
    assert begun == set()
