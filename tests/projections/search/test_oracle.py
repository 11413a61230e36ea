"""The engine against the plain oracle: random questions, the same documents and totals.

CATALOG_ORACLE_ROUNDS sets how many questions a deep run asks of each catalog, CATALOG_ORACLE_SEED
which ones are asked.
"""

import os
from collections.abc import Iterator
from random import Random
from uuid import uuid4

import msgspec
import pytest

from projections.search import tree
from projections.search.documents.documents import SearchDocument, document
from projections.search.documents.sources import object_reader
from projections.search.engine import EngineQuery, Facet
from projections.search.language import filter_json, text
from tests.brief_engines import brief_engine
from tests.depth import first_alone
from tests.opensearch_indexes import SharedIndex
from tests.projections.search.aggregation_oracle import as_told, told
from tests.projections.search.answers.test_catalogs import shared_entities
from tests.projections.search.conftest import Catalog, make_entity
from tests.projections.search.oracle import Oracle
from tests.projections.search.questions import Questions

ROUNDS = first_alone(25, int(os.environ.get("CATALOG_ORACLE_ROUNDS", "500")))
SEED = int(os.environ.get("CATALOG_ORACLE_SEED", "7"))

_WORDS = ("order", "orders", "customer", "customers", "fact", "dim", "id", "ID2", "boxes", "box")
_TAGS = ("PII.Sensitive", "PII.None", "Tier.Tier1", "Tier.Tier2", "Größe.Groß")


def generated(random: Random):
    """Entities over a small vocabulary, so that everything is near to everything."""

    def words(joint, most=3):
        return joint.join(random.choices(_WORDS, k=random.randint(1, most)))

    def labels():
        return [{"tagFQN": tag, "source": "Classification"} for tag in random.sample(_TAGS, 2)]

    def columns(depth):
        return [
            {
                "name": words(random.choice(("_", "", "-", " "))),
                "dataType": random.choice(("INT", "STRING", "STRUCT")),
                "dataLength": random.randint(1, 4),
                "tags": labels() if random.random() < 0.4 else [],
                "description": words(" ", 6),
                "children": columns(depth - 1) if depth and random.random() < 0.3 else [],
            }
            for _ in range(random.randint(1, 3))
        ]

    for number in range(150):
        name = f"{words(random.choice(('_', '.', '-', ' ', '')))}{random.choice(('', number))}"
        body = {
            "description": words(random.choice((" ", ", ", " the ")), 12),
            "columns": columns(2),
            "tags": labels(),
            "owners": [{"type": "user", "fullyQualifiedName": random.choice(("ann", "bob.k"))}],
            "tableType": random.choice(("View", "MaterializedView", "SecureView")),
            "effectiveFrom": f"2024-01-0{random.randint(1, 3)}T0{random.randint(0, 3)}:00:00"
            + random.choice(("Z", "+02:00", "-05:00")),
            "extension": {"cost": random.choice((1, 2.5, True, "2024-01-01", "high"))},
        }
        kept = {key: value for key, value in body.items() if random.random() < 0.8}
        yield make_entity(
            name,
            random.choice(("table", "table", "topic", "dashboard")),
            fqn=f"s.{number}.{name}",
            version=random.randint(1, 30),
            updated_at=1_700_000_000_000 + 3_600_000 * random.randint(0, 2_000),
            deleted=random.random() < 0.1,
            **kept,
        )


class Both:
    """An engine and an oracle that were told the same."""

    def __init__(self, catalog: Catalog, random: Random) -> None:
        self.catalog = catalog
        self.oracle = Oracle()
        self.random = random

    def add(self, entities) -> None:
        self.catalog.add(*entities)
        for entity in entities:
            self.oracle.add(entity)

    def fill(self, entities) -> None:
        """In several commits, with documents replaced and removed afterwards."""
        self.random.shuffle(entities)
        size = -(-len(entities) // 5)
        for start in range(0, len(entities), size):
            self.add(entities[start : start + size])
        for _ in range(3):
            sample = self.random.sample(sorted(self.catalog.entities), size // 4)
            taken = [self.catalog.entities[entity_id] for entity_id in sample]
            half = len(taken) // 2
            bodies = [entity.body for entity in reversed(taken[:half])]
            self.add(
                [
                    msgspec.structs.replace(
                        entity, body=body, deleted_by=self.random.choice((None, "request"))
                    )
                    for entity, body in zip(taken[:half], bodies, strict=True)
                ]
            )
            self.catalog.remove(*taken[half:])
            for entity in taken[half:]:
                self.oracle.remove(entity.id)

    def documents(self) -> list[SearchDocument]:
        return [document(entity) for entity in self.catalog.entities.values()]

    def differ(self, node: tree.Node, *filters: tree.Node, **options) -> tuple[set[str], set[str]]:
        """Return what only the engine finds, and what only the oracle finds."""
        hits = self.catalog.engine.search(
            EngineQuery(
                tree=node,
                filter=filters[0] if filters else None,
                post_filter=filters[1] if len(filters) > 1 else None,
                size=len(self.catalog.entities),
                **options,
            ),
            object_reader(self.catalog.read_sources),
        )
        found = [hit.id for hit in hits.hits]
        assert (hits.relation, hits.timed_out) == ("eq", False)
        assert (hits.total, len(set(found))) == (len(found), len(found))
        expected = self.oracle.found(node, *filters, **options)
        return set(found) - expected, expected - set(found)

    def smallest(self, node: tree.Node) -> tree.Node | None:
        """The smallest part of the tree about which the two differ."""
        for inner in _parts(node):
            if smaller := self.smallest(inner):
                return smaller
        return node if any(self.differ(node, include_deleted=True)) else None


def _parts(node: tree.Node) -> Iterator[tree.Node]:
    match node:
        case tree.Bool():
            yield from (*node.must, *node.filter, *node.should, *node.must_not)
        case tree.DisMax(nodes=nodes):
            yield from nodes
        case tree.Constant(node=inner) | tree.Boosted(node=inner):
            yield inner


GENERATED, IN_CLUSTER = "generated", "generated, in OpenSearch"


CATALOGS = [
    GENERATED,
    "ecommerce.jsonl",
    "mozilla.jsonl.gz",
    pytest.param(IN_CLUSTER, marks=pytest.mark.xdist_group("opensearch")),
]


@pytest.fixture(scope="module", params=CATALOGS)
def filled(request) -> Iterator[Both]:
    """Both, filled once for all questions."""
    random = Random(f"{SEED} {request.param}")
    if request.param in (GENERATED, IN_CLUSTER):
        entities = list(generated(random))
    else:
        entities = list(shared_entities(request.param))
        entities = random.sample(entities, min(len(entities), 160))
    if request.param == IN_CLUSTER:
        server = request.getfixturevalue("opensearch")
        catalog = Catalog(SharedIndex(server, f"oracle-{uuid4().hex}").open())
    else:
        # Which of both is slow on a busy machine is not asked here.
        catalog = Catalog(brief_engine(deadline=300.0))
    both = Both(catalog, random)
    both.fill(entities)
    yield both
    catalog.engine.close()


@pytest.fixture
def both(filled: Both) -> Both:
    """The same, whose questions are those of the seed, whatever was asked before."""
    filled.random = Random(SEED)
    return filled


@pytest.mark.parametrize("rounds", ROUNDS)
def test_engine_counts_what_the_oracle_counts(both, rounds):
    documents = {document.id: document for document in both.documents()}
    questions = Questions(both.random, list(documents.values()))
    counted = 0
    for number in range(rounds // 2):
        node = text.parsed(questions.query()).node if number % 2 else tree.MatchAll()
        asked = [questions.aggregation() for _ in range(3)]
        hits = both.catalog.engine.search(
            EngineQuery(tree=node, size=0, facets=tuple(map(Facet, asked))),
            object_reader(both.catalog.read_sources),
        )
        matching = [documents[each] for each in both.oracle.found(node)]
        for aggregation, result in zip(asked, hits.facets, strict=True):
            expected = told(matching, aggregation)
            assert as_told(result) == expected, f"seed {SEED}, {number}: {node} {aggregation}"
            counted += bool(expected.get("buckets"))
    assert counted > number / 2


@pytest.mark.parametrize("rounds", ROUNDS)
def test_engine_finds_what_the_oracle_finds(both, rounds):
    questions = Questions(both.random, both.documents())
    kinds = sorted({d.kind for d in both.documents()})
    asked = matched = 0
    for number in range(rounds):
        query = questions.query() if number % 3 else "*"
        filters = [questions.filter() for _ in range(both.random.choice((0, 0, 0, 1, 1, 2)))]
        if query == "*" and not filters:
            filters = [questions.filter()]
        some = frozenset(both.random.sample(kinds, both.random.randint(1, len(kinds))))
        options = {
            "kinds": both.random.choice((None, None, None, some)),
            "include_deleted": both.random.random() < 0.4,
            "visible": both.random.choice((None, None, some)),
        }
        nodes = [text.parsed(query).node]
        nodes += [filter_json.parse(msgspec.json.encode(clause)) for clause in filters]
        more, fewer = both.differ(*nodes, **options)
        if more or fewer:
            least = next((part for node in nodes if (part := both.smallest(node))), nodes)
            names = {i: both.catalog.entities[i].name for i in sorted(more | fewer)[:3]}
            pytest.fail(
                f"seed {SEED}, question {number}: q={query!r} filters={filters} {options}\n"
                f"{len(more)} only in the engine, {len(fewer)} only in the oracle: {names}\n"
                f"the smallest part that differs: {least}"
            )
        asked += 1
        matched += bool(both.oracle.found(*nodes, **options))
    assert matched > 0.35 * asked
