"""The judged queries: what people type over two real catalogs, and what they hope to find."""

import gzip
import tomllib
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

DATA = Path(__file__).parents[2] / "shared" / "data"
CATALOGS = (DATA / "mozilla.jsonl.gz", DATA / "ecommerce.jsonl")
FIRST, TYPED = "judged.toml", "judged_typed.toml"
"""The files of queries; half of those of the second are set aside."""

SET_ASIDE = "set aside"
"""The group of queries on which nothing is tuned, so that they tell what tuning is worth."""

Key = tuple[str, str]
"""Kind and qualified name."""


class Judged(msgspec.Struct, frozen=True):
    """A query, its category, and the entities worth finding with their grades, 3 to 1."""

    text: str
    category: str
    grades: Mapping[Key, int]
    group: str = FIRST
    """The file that it is of, or SET_ASIDE."""


class _Written(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    text: str
    category: str
    perfect: tuple[str, ...]
    good: tuple[str, ...] = ()
    acceptable: tuple[str, ...] = ()


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    query: tuple[_Written, ...]
    prefixes: dict[str, str] = {}
    """Short forms of the beginnings of qualified names; those of FIRST hold in all files."""


def lines(catalog: Path) -> Iterator[bytes]:
    """The lines of a catalog."""
    with gzip.open(catalog) if catalog.suffix == ".gz" else catalog.open("rb") as file:
        yield from file


def entities() -> Iterator[dict[str, Any]]:
    """Yield the entities of the catalogs; there are none where the shared data is absent."""
    for catalog in filter(Path.exists, CATALOGS):
        for line in lines(catalog):
            yield msgspec.json.decode(line)


def is_set_aside(text: str) -> bool:
    """True if a query of TYPED is never tuned on: the CRC-32 of its text in UTF-8 is odd."""
    return zlib.crc32(text.encode()) % 2 == 1


def judged(catalog: Iterable[Mapping[str, Any]]) -> list[Judged]:
    """The judged queries; the contracts in the catalog on what is perfect are acceptable."""
    first, typed = map(_read, (FIRST, TYPED))
    contracts: dict[Key, list[Key]] = {}
    for entity in catalog:
        if entity["entityType"] == "dataContract":
            about = entity["entity"]["type"], entity["entity"]["fullyQualifiedName"]
            contracts.setdefault(about, []).append(("dataContract", entity["fullyQualifiedName"]))
    queries = [(query, FIRST) for query in first.query] + [
        (query, SET_ASIDE if is_set_aside(query.text) else TYPED) for query in typed.query
    ]
    return [_expanded(query, group, first.prefixes, contracts) for query, group in queries]


def _read(name: str) -> _File:
    return msgspec.convert(tomllib.loads(Path(__file__).with_name(name).read_text()), _File)


def _expanded(
    query: _Written,
    group: str,
    prefixes: Mapping[str, str],
    contracts: Mapping[Key, list[Key]],
) -> Judged:
    grades: dict[Key, int] = {}
    for grade, written in ((3, query.perfect), (2, query.good), (1, query.acceptable)):
        grades.update((_key(entity, prefixes), grade) for entity in written)
    for key in [key for key, grade in grades.items() if grade == 3]:
        for contract in contracts.get(key, ()):
            grades.setdefault(contract, 1)
    return Judged(query.text, query.category, grades, group)


def _key(written: str, prefixes: Mapping[str, str]) -> Key:
    kind, _, name = written.partition(" ")
    short, colon, rest = name.partition(":")
    return kind, prefixes[short] + rest if colon else name
