"""Entities and engines for the tests of the search read model."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import msgspec
import pytest

from domain.aggregate.entity import Entity
from domain.kinds.names import quote
from projections.search.answers.queries import SearchRequest, search
from projections.search.documents.documents import document
from projections.search.engine import EngineHits, EngineQuery, SearchEngine
from projections.search.index.engine import WhooshEngine
from tests.brief_engines import TIME_ENOUGH
from tests.commits import commit
from tests.query_texts import parse

Make = Callable[..., Entity]


def make_entity(name: str = "orders", kind: str = "table", /, **body: Any) -> Entity:
    """An entity; `fqn`, `version`, `updated_at` and `deleted` are its own, the rest is body."""
    fqn = body.pop("fqn", f"shop.db.public.{quote(name)}")
    own = {
        "version": body.pop("version", 1),
        "updated_at": body.pop("updated_at", 1_700_000_000_000),
        "deleted_by": "request" if body.pop("deleted", False) else None,
    }
    return Entity(
        id=str(uuid5(NAMESPACE_URL, f"{kind}/{fqn}")),
        kind=kind,
        name=name,
        fqn=fqn,
        parent_id=None,
        body={key: msgspec.Raw(msgspec.json.encode(value)) for key, value in body.items()},
        stream_version=1,
        updated_by="tester",
        request_id="r",
        **own,
    )


class Catalog:
    """An engine with the entities it was given, searched as the API does."""

    def __init__(self, engine: SearchEngine) -> None:
        self.engine = engine
        self.entities: dict[str, Entity] = {}
        self.position = 0

    def add(self, *entities: Entity) -> "Catalog":
        self.position += len(entities)
        self.entities |= {entity.id: entity for entity in entities}
        commit(self.engine, {e.id: document(e) for e in entities}, self.position)
        return self

    def remove(self, *entities: Entity) -> None:
        self.position += 1
        commit(self.engine, {entity.id: None for entity in entities}, self.position)
        for entity in entities:
            del self.entities[entity.id]

    def read_sources(self, ids: Any) -> Mapping[str, bytes]:
        return {i: self._json(self.entities[i]) for i in ids if i in self.entities}

    @staticmethod
    def _json(entity: Entity) -> bytes:
        own = {"id": entity.id, "name": entity.name, "fullyQualifiedName": entity.fqn}
        return msgspec.json.encode({**own, **entity.body})

    def respond(self, q: str = "", **parameters: Any) -> Any:
        """The decoded response of a search."""
        request = SearchRequest(q=q, **parameters)
        return json.loads(search(request, self.engine, self.read_sources).body)

    def names(self, q: str = "", **parameters: Any) -> list[str]:
        """The names of the hits, in order."""
        hits = self.respond(q, **parameters)["hits"]["hits"]
        return [self.entities[hit["_id"]].name for hit in hits]

    def found(self, q: str = "", **parameters: Any) -> set[str]:
        """The names of up to 1,000 hits."""
        return set(self.names(q, size=1_000, **parameters))

    def run(self, q: str = "", **options: Any) -> EngineHits:
        """Return the hits of the engine itself."""
        return self.engine.search(EngineQuery(tree=parse(q), **options))


@pytest.fixture
def entity() -> Make:
    return make_entity


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    """An empty catalog."""
    engine = WhooshEngine.open(tmp_path / "index", deadline=TIME_ENOUGH)
    yield Catalog(engine)
    engine.close()


@pytest.fixture
def shop(catalog: Catalog) -> Catalog:
    """A few tables and a topic with something to tell apart."""
    columns = [
        {"name": "customer_id", "dataType": "BIGINT", "tags": [{"tagFQN": "PII.Sensitive"}]},
        {"name": "address", "dataType": "STRUCT", "children": [{"name": "zipCode"}]},
    ]
    owner = {"type": "user", "name": "ann", "fullyQualifiedName": "ann"}
    service = {"type": "databaseService", "fullyQualifiedName": "shop"}
    return catalog.add(
        make_entity(
            "dim_customer",
            columns=columns,
            owners=[owner],
            service=service,
            serviceType="BigQuery",
            description="One row for each of our customers.",
            updated_at=1_704_067_200_000,
        ),
        make_entity("fact_orders", description="Fact order lines", version=3, votes={"upVotes": 5}),
        make_entity("customerOrders", displayName="Orders of a customer", version=12),
        make_entity("old_customer", deleted=True),
        make_entity("orders", "topic", fqn="kafka.orders", description="The order stream"),
        make_entity("stg.raw_v2", tags=[{"tagFQN": "Tier.Tier1"}], extension={"cost": 12.5}),
    )
