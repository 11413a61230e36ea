"""Real catalogs: every entity is found by a search for its own name."""

import gzip
import json
from pathlib import Path

import pytest

from tests.projections.search.conftest import make_entity

DATA = Path(__file__).parents[5] / "shared" / "data"


def shared_entities(name):
    """The entities of a shared catalog; skips the test where it is absent."""
    file = DATA / name
    if not file.exists():
        pytest.skip(f"the shared catalogs are not beside the repository: no {name}")
    read = gzip.open if file.suffix == ".gz" else open
    with read(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            body = json.loads(line)
            kind, own, fqn = (body.pop(k) for k in ("entityType", "name", "fullyQualifiedName"))
            yield make_entity(own, kind, fqn=fqn, **body)


def _escaped(name):
    return name.replace("\\", "\\\\").replace('"', '\\"')


@pytest.mark.parametrize(
    "step",
    [
        pytest.param(1, id="ecommerce"),
        pytest.param(40, id="mozilla", marks=pytest.mark.deep),
    ],
)
def test_every_entity_is_found_by_its_own_name(catalog, step):
    name = "ecommerce.jsonl" if step == 1 else "mozilla.jsonl.gz"
    entities = list(shared_entities(name))
    catalog.add(*entities)
    lost = []
    for sought in entities[::step]:
        phrase = f'"{_escaped(sought.name)}"'
        for q in (sought.name, phrase, f"name.keyword:{phrase}", f"name:{phrase}"):
            found = catalog.respond(q, size=1_000, fetch_source=False)
            if sought.id not in {hit["_id"] for hit in found["hits"]["hits"]}:
                lost.append(q)
    assert lost == []
