"""The judged queries: what people type over two real catalogs, and what they hope to find."""

import gzip
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

DATA = Path(__file__).parents[2] / "shared" / "data"
CATALOGS = (DATA / "mozilla.jsonl.gz", DATA / "ecommerce.jsonl")

Key = tuple[str, str]
"""Kind and qualified name."""


class Judged(msgspec.Struct, frozen=True):
    """A query, its category, and the entities worth finding with their grades, 3 to 1."""

    text: str
    category: str
    grades: Mapping[Key, int]


class _Written(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    text: str
    category: str
    perfect: tuple[str, ...]
    good: tuple[str, ...] = ()
    acceptable: tuple[str, ...] = ()


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    prefixes: dict[str, str]
    query: tuple[_Written, ...]


def lines(catalog: Path) -> Iterator[bytes]:
    """The lines of a catalog."""
    with gzip.open(catalog) if catalog.suffix == ".gz" else catalog.open("rb") as file:
        yield from file


def entities() -> Iterator[dict[str, Any]]:
    """What the catalogs hold; there are none where the shared data is absent."""
    for catalog in filter(Path.exists, CATALOGS):
        for line in lines(catalog):
            yield msgspec.json.decode(line)


def judged(catalog: Iterable[Mapping[str, Any]]) -> list[Judged]:
    """The judged queries; the contracts in the catalog on what is perfect are acceptable."""
    text = Path(__file__).with_name("judged.toml").read_text()
    file = msgspec.convert(tomllib.loads(text), _File)
    contracts: dict[Key, list[Key]] = {}
    for entity in catalog:
        if entity["entityType"] == "dataContract":
            about = entity["entity"]["type"], entity["entity"]["fullyQualifiedName"]
            contracts.setdefault(about, []).append(("dataContract", entity["fullyQualifiedName"]))
    return [_expanded(query, file.prefixes, contracts) for query in file.query]


def _expanded(
    query: _Written, prefixes: Mapping[str, str], contracts: Mapping[Key, list[Key]]
) -> Judged:
    grades: dict[Key, int] = {}
    for grade, written in ((3, query.perfect), (2, query.good), (1, query.acceptable)):
        grades.update((_key(entity, prefixes), grade) for entity in written)
    for key in [key for key, grade in grades.items() if grade == 3]:
        for contract in contracts.get(key, ()):
            grades.setdefault(contract, 1)
    return Judged(query.text, query.category, grades)


def _key(written: str, prefixes: Mapping[str, str]) -> Key:
    kind, _, name = written.partition(" ")
    short, colon, rest = name.partition(":")
    return kind, prefixes[short] + rest if colon else name
