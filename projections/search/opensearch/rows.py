"""Search documents as lines of JSON for the bulk interface of a cluster."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from typing import Any

import msgspec

from domain.reading.horizon import Horizon
from projections.search.analysis import Tokens, keyword, stem, tokens
from projections.search.documents.documents import SORTABLE, Scalar, SearchDocument, SortValue
from projections.search.engine import SearchedPaths
from projections.search.language.field_types import field_type, is_prose, is_whole
from projections.search.matching import weights
from projections.search.matching.moments import FIRST, LAST
from projections.search.matching.stored_document import StoredDocument
from projections.search.matching.terms import (
    PRESENT,
    SEPARATOR,
    WRITTEN_PATHS,
    exact_term,
    finite,
    whole_term,
    written_value,
)
from projections.search.opensearch.mapping import (
    BESIDE,
    DIGEST_PARTS,
    EVER,
    FREQUENCY,
    PLACE_END,
    SAID,
    WEIGHS,
    column,
    has_columns,
    sort_column,
    spelled,
)

_CHECKPOINT = "checkpoint"
"""Id of the document with the checkpoint; ids of entities are of another form."""
_NO_PATHS, _ALL = SearchedPaths(), Horizon()
_MAX_SORT = 8_000
"""Characters of a text that documents are sorted by, of at most 4 bytes each."""
_encode = msgspec.json.Encoder().encode


class Lines:
    """Makes the lines for one life of an index: what it holds between two resets.

    Ids begin with the name of the life, so that what was there before a reset, of which the cluster
    remembers the versions for a while, is nothing to what comes after it.
    """

    def __init__(self, life: str) -> None:
        self.life = life
        self.checkpoint_id = f"{life}.{_CHECKPOINT}"

    def index(self, document: SearchDocument, position: int) -> bytes:
        """The lines that replace or add a document, unless a newer one is there."""
        return self._lines("index", document.id, position, _fields(document))

    def replaced(self, document: SearchDocument, position: int) -> bytes:
        """The lines that add the document of a state that another one replaced."""
        fields = {EVER.get(name, name): field for name, field in _fields(document).items()}
        fields["until"] = document.until
        return self._lines("index", f"{document.id}~{document.since}", position, fields)

    def delete(self, entity_id: str, position: int) -> bytes:
        """The line that removes a document, unless a newer one is there."""
        return self._lines("delete", entity_id, position, None)

    def checkpoint(
        self,
        position: int,
        fingerprint: str,
        searched: SearchedPaths = _NO_PATHS,
        horizon: Horizon = _ALL,
    ) -> bytes:
        """The lines that replace the checkpoint by one that is not older."""
        fields = {
            "position": position,
            "fingerprint": fingerprint,
            "life": self.life,
            "searched": _encode(searched).decode(),
            "horizon": _encode(horizon).decode(),
        }
        return self._lines("index", _CHECKPOINT, position, fields)

    @staticmethod
    def position(version: int) -> int:
        """The position at which a document was sent, by its version."""
        # A version of 0 could not be deleted by a query.
        return version - 1

    def _lines(self, action: str, name: str, position: int, fields: Any) -> bytes:
        version = {"version": position + 1, "version_type": "external_gte"}
        lines = [_encode({action: {"_id": f"{self.life}.{name}", **version}}), b"\n"]
        if fields is not None:
            lines += (_encode(fields), b"\n")
        return b"".join(lines)


def sort_value(value: SortValue) -> SortValue:
    """A value as documents are sorted by it."""
    if isinstance(value, str):
        return value[:_MAX_SORT]
    return None if value is None else finite(value)


def _fields(document: SearchDocument) -> dict[str, Any]:
    row = StoredDocument.of(document)
    fields: defaultdict[str, Any] = defaultdict(list)
    fields |= {
        "id": document.id,
        "kind": document.kind,
        "deleted": document.deleted,
        "since": document.since,
        "row": _encode(row).decode(),
    }
    for path, value in zip(SORTABLE, row.sort, strict=True):
        if isinstance(value, str) if SORTABLE[path] is str else isinstance(value, int | float):
            fields[sort_column(path)] = sort_value(value)
    for part in range(DIGEST_PARTS):
        fields[f"digest{part}"] = document.digest >> 16 * part & 0xFFFF
    fields["whole"].append(whole_term("id", document.id).hex())
    for path, values in document.fields.items():
        fields["exact"].append(PRESENT + path)
        _add_path(fields, path, values)
    _add_words(fields, document)
    return fields


def _add_path(fields: defaultdict[str, Any], path: str, values: tuple[Scalar, ...]) -> None:
    whole, prose, columns = is_whole(path), is_prose(path), has_columns(path)
    # 1, 1.0 and True are one key by themselves.
    for value in {(type(value), value): value for value in values}.values():
        if not isinstance(value, str):
            fields["exact"].append(exact_term(path, value))
            if columns:
                _add_number(fields, path, value)
            continue
        if whole:
            fields["whole"].append(whole_term(path, value).hex())
            continue
        analysed = tokens(value, prose)
        term = None if prose else exact_term(path, value)
        if term is not None:
            fields["exact"].append(term)
            if columns:
                fields[column("values", path)].append(keyword(value))
            if path in WRITTEN_PATHS:
                fields[column("written", path)].append(written_value(value))
        alone = (
            term is not None and len(analysed.parts) == 1 and analysed.parts[0] == keyword(value)
        )
        if text := _places(analysed, spelled(path) + SEPARATOR, alone=alone):
            fields["text"].append(text)


def _add_number(fields: defaultdict[str, Any], path: str, value: float | bool) -> None:
    if isinstance(value, bool):
        fields[column("booleans", path)].append("true" if value else "false")
        return
    number = finite(value)
    fields[column("numbers", path)].append(number)
    if field_type(path) == "moment" and FIRST <= number < LAST + 1:
        fields[column("moments", path)].append(int(number // 1))


def _places(analysed: Tokens, before: str = "", *, alone: bool = False) -> str:
    """The terms at each position; a part that is the whole value by itself is left out."""
    at: list[list[str]] = [[] if alone else [part] for part in analysed.parts]
    for place, part in enumerate(analysed.parts):
        if part[-1] == "s" and (root := stem(part)) != part:
            at[place].append(root)
    for longer, place in analysed.wholes:
        at[place].append(longer)
    return PLACE_END.join(BESIDE.join(before + term for term in terms) for terms in at if terms)


def _add_words(fields: defaultdict[str, Any], document: SearchDocument) -> None:
    weighs: defaultdict[str, float] = defaultdict(float)
    said: list[str] = []
    for path, prose, boost, average in weights.FIELDS[document.kind]:
        values = document.fields.get(path, ())
        if not values or (path == "displayName" and values == document.fields.get("name")):
            continue
        analysed = [tokens(v, prose) for v in dict.fromkeys(values) if isinstance(v, str)]
        length = sum(len(each.parts) for each in analysed)
        weight = boost / (1 - weights.B + weights.B * length / average)
        for term, share in chain.from_iterable(map(_occurrences, analysed)):
            weighs[term] += share * weight
        said += filter(None, map(_places, analysed))
    if weighs:
        fields["words"] = PLACE_END.join(
            f"{term}{WEIGHS}{max(1, round(FREQUENCY * weight))}" for term, weight in weighs.items()
        )
        fields[SAID] = said


def _occurrences(analysed: Tokens) -> Iterator[tuple[str, float]]:
    """Each term of a text with its weight there."""
    for part in analysed.parts:
        yield part, 1.0
        if part[-1] == "s" and (root := stem(part)) != part:
            yield root, weights.STEM
    for longer, _ in analysed.wholes:
        yield longer, 1.0
