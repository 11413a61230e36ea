"""Search in OpenSearch through us, beside the same requests sent straight to it, and our own index.

What is sent straight is what we have sent for the same question, over one connection that is kept,
and its answers are decoded. All take turns, and every question was asked once before.
"""

import http.client
import math
import statistics
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from itertools import islice
from typing import Any
from urllib.parse import urlencode

import msgspec

from benchmarks.figures import Figure
from benchmarks.generate import lines
from benchmarks.opensearch_server import NoServer, OpenSearchServer, running
from benchmarks.search import documents, engine_query
from benchmarks.search_questions import Question, Sample, Shape
from benchmarks.workspace import Workspace, load
from domain.event_store.port import EventStore
from projections.search.bulk_build import load as build
from projections.search.engine import SearchEngine
from projections.search.index.engine import WhooshEngine
from projections.search.index.evaluate.object_search import ObjectSearch
from projections.search.opensearch.address import read_search_address
from projections.search.opensearch.cluster import REQUEST_SECONDS, Cluster, Json
from projections.search.opensearch.commits import make
from projections.search.opensearch.engine import OpenSearchEngine
from projections.wiring.stores import open_log

BUDGET = 1.3
_QUESTIONS, _SAMPLED = 12, 5_000
_COUNT, _LARGE = 5_000, 100_000
_INDEX = "benchmark"
Timing = tuple[float, float, float]
"""Milliseconds of a question through us, straight, and on our own index."""


class Recording(Cluster):
    """A connection that remembers the requests of searches."""

    sent: list[tuple[str, bytes]]

    def request(
        self,
        method: str,
        path: str,
        body: Json | bytes | None = None,
        *,
        seconds: float = REQUEST_SECONDS,
        **parameters: str,
    ) -> Any:
        if path.endswith("/_search"):
            self.sent.append((f"{path}?{urlencode(parameters)}", msgspec.json.encode(body)))
        return super().request(method, path, body, seconds=seconds, **parameters)


def measure(workspace: Workspace, large: bool) -> list[Figure]:
    """Builds both indexes of the same log, and asks both the same questions."""
    try:
        with running() as server:
            return _figures(server, workspace, _LARGE if large else _COUNT)
    except NoServer as error:
        print(f"skipped: {error}", file=sys.stderr)
        return []


def _figures(server: OpenSearchServer, workspace: Workspace, count: int) -> list[Figure]:
    cluster = Recording(read_search_address(server.url))
    cluster.sent = []
    make(cluster, _INDEX)
    log = open_log(workspace.fresh())
    ours = WhooshEngine.open(workspace.fresh())
    with (
        closing(log),
        closing(ours),
        closing(
            OpenSearchEngine(
                cluster, _INDEX, search_objects=ObjectSearch, writable=True, deadline=60.0
            )
        ) as engine,
    ):
        load(log, lines(count))
        own_rate, rate = (count / _build_seconds(each, log) for each in (ours, engine))
        ours.compact()
        cluster.request("POST", f"/{_INDEX}/_forcemerge", max_num_segments="1", seconds=600)
        step = max(1, count // _SAMPLED)
        shapes = Sample(islice(documents(log), 0, None, step)).shapes(_QUESTIONS)
        with closing(http.client.HTTPConnection("127.0.0.1", server.port)) as straight:
            timings = {
                shape.name: _timings(cluster, engine, ours, straight, shape) for shape in shapes
            }
    built = Figure(
        what=f"index of {count:,} entities from the log",
        measured=f"{rate:,.0f} documents/s",
        yardstick=f"our own index {own_rate:,.0f}/s",
        ratio=rate / own_rate,
    )
    shown = [_shown(name, timing) for name, timing in timings.items()]
    mean = math.exp(statistics.fmean(math.log(figure.ratio or 1.0) for figure in shown))
    return [
        built,
        *shown,
        Figure(
            what="geometric mean of all shapes",
            measured="-",
            ratio=mean,
            budget=f"<= {BUDGET}",
            met=mean <= BUDGET,
        ),
    ]


def _build_seconds(engine: SearchEngine, log: EventStore) -> float:
    started = time.perf_counter()
    build(engine, log, lambda done, total: None)
    return time.perf_counter() - started


def _timings(
    cluster: Recording,
    engine: SearchEngine,
    ours: SearchEngine,
    straight: http.client.HTTPConnection,
    shape: Shape,
) -> list[Timing]:
    requests = []
    for question in shape.questions:
        cluster.sent = []
        totals = {each.search(engine_query(question)).total for each in (engine, ours)}
        assert len(totals) == 1, (shape.name, question.text, totals)
        requests.append(cluster.sent)
    return [
        (_ms(engine, question), _straight_ms(straight, sent), _ms(ours, question))
        for question, sent in zip(shape.questions, requests, strict=True)
    ]


def _ms(engine: SearchEngine, question: Question) -> float:
    query = engine_query(question)
    started = time.perf_counter()
    engine.search(query)
    return (time.perf_counter() - started) * 1000


def _straight_ms(straight: http.client.HTTPConnection, sent: Sequence[tuple[str, bytes]]) -> float:
    started = time.perf_counter()
    for path, body in sent:
        straight.request("POST", path, body, {"content-type": "application/json"})
        answer = straight.getresponse()
        assert answer.status == 200
        msgspec.json.decode(answer.read())
    return (time.perf_counter() - started) * 1000


def _shown(name: str, timings: Sequence[Timing]) -> Figure:
    through, straight, own = (statistics.median(each) for each in zip(*timings, strict=True))
    ratio = statistics.median(a / b for a, b, _ in timings)
    return Figure(
        what=name,
        measured=f"{through:.2f} ms",
        yardstick=f"straight {straight:.2f} ms; our own index {own:.2f} ms",
        ratio=ratio,
        budget=f"<= {BUDGET}",
        met=ratio <= BUDGET,
    )
