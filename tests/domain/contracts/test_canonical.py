"""The canonical text loses nothing of a document, and bounds what is given."""

import json
from typing import Any

import pytest
from hypothesis import given, settings

from domain.contracts.canonical import MAX_BYTES, MAX_DIGITS, canonical, read_canonical, read_json
from domain.errors import InvalidInput
from tests.domain.contracts.documents import documents


@given(documents)
@settings(deadline=None)
def test_canonical_text_gives_the_document_back(document: dict[str, Any]) -> None:
    text = canonical(document)
    assert canonical(read_canonical(text)) == text
    assert canonical(read_json(json.dumps(document, indent=1).encode())) == text
    assert repr(read_canonical(text)) == repr(document)


def test_read_json_keeps_numbers_and_order() -> None:
    text = '{"b":1.0,"a":1,"c":9007199254740993,"d":123456789012345678901234567890,"e":null}'
    assert canonical(read_json(text.encode())) == text


REFUSED = {
    "key": ('{"a":1,"a":2}', "the document has the key 'a' twice in one object"),
    "number": ('{"a":1e400}', "the document is not as expected: Number out of range"),
    "digits": ('{"a":' + "9" * (MAX_DIGITS + 1) + "}", "a number may have 1000 digits, got 1001"),
    "list": ("[]", "the document is not as expected: Expected `object`, got `array`"),
    "depth": ('{"a":' * 70 + "1" + "}" * 70, "the document may be 64 levels deep"),
    "bytes": ('{"a":"' + "x" * MAX_BYTES + '"}', "a document may have 4000000 bytes, got 4000008"),
}


@pytest.mark.parametrize("sort", REFUSED)
def test_read_json_refuses(sort: str) -> None:
    text, message = REFUSED[sort]
    with pytest.raises(InvalidInput) as caught:
        read_json(text.encode())
    assert caught.value.message.startswith(message)
