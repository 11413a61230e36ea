"""What is written as YAML is read as the same value."""

from typing import Any

import pytest
import yaml
from hypothesis import given, settings

from domain.contracts.canonical import canonical
from domain.contracts.yaml_input import read_yaml
from domain.contracts.yaml_output import write_yaml
from tests.depth import examples
from tests.domain.contracts.documents import FULL, documents


@given(documents)
@settings(deadline=None, max_examples=examples(2_000))
def test_written_yaml_is_read_as_the_same_document(document: dict[str, Any]) -> None:
    written = write_yaml(document)
    assert canonical(read_yaml(written)) == canonical(document)
    assert canonical(yaml.safe_load(written)) == canonical(document)


def test_yaml_is_written_for_people() -> None:
    document = {
        "name": "Orders, all of them",
        "no": "10:30",
        "text": "first\n\nsecond\n",
        "empty": [{}, [], None, ""],
        "nested": [{"a": [[1, 2.5]], "b": {"c": True}}],
    }
    assert (
        write_yaml(document).decode()
        == """\
name: Orders, all of them
"no": "10:30"
text: |
  first

  second
empty:
  - {}
  - []
  - null
  - ""
nested:
  - a:
      - - 1
        - 2.5
    b:
      c: true
"""
    )


@pytest.mark.parametrize("text", ["y", "NO", "1e3", "1_0", "2024-01-01", "a: b", "a #b", "-", "é"])
def test_text_that_a_reader_may_take_for_something_else_is_quoted(text: str) -> None:
    assert write_yaml({"a": text}).decode() == f'a: "{text}"\n'


def test_document_is_written_and_read_again() -> None:
    document = read_yaml(FULL.encode())
    assert write_yaml(read_yaml(write_yaml(document))) == write_yaml(document)
