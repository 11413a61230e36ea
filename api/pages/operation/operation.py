"""The state of the read models, and their verification and rebuild, started from a page."""

import os
import threading
import time
from collections import deque
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import msgspec
from anyio import CapacityLimiter, to_thread
from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse

from api.callers.permissions import Action
from api.callers.policies import Policies
from api.callers.sign_in.sessions import Sessions
from api.pages.frame import plots
from api.pages.frame.rendering import AnyRequest, Renderer, html, redirect
from api.pages.frame.routing import form, page
from api.routes.system.system import OPERATING
from api.services import Services
from api.settings import Settings
from api.telemetry.metrics import Metrics
from api.telemetry.shared_counts import BUCKETS
from domain.errors import InvalidInput
from projections.operation.inspection import Inspection, inspect
from projections.operation.proofs import read_proofs
from projections.operation.records import Order, is_under_way, read_operation, start

SAMPLES, SAMPLE_SECONDS = 120, 2.0
"""Most samples that are kept for the plots of load, and the least time between two of them."""
_ROUTES = 12
ADDRESS = "/operation"


class _Sample(msgspec.Struct, frozen=True):
    """The load at one request for the page."""

    at: float
    requests: int
    lags: dict[str, int]


class _Load:
    """The last looks of this process, as nothing of load is stored; any thread may add one."""

    def __init__(self) -> None:
        self._samples: deque[_Sample] = deque(maxlen=SAMPLES)
        self._lock = threading.Lock()

    def look(self, requests: int, inspection: Inspection) -> dict[str, Any] | None:
        """Add a sample; returns the plots of all samples, None before there are three."""
        now = time.monotonic()
        lags = {each.name: each.lag for each in inspection.projections if each.lag is not None}
        with self._lock:
            if not self._samples or now - self._samples[-1].at >= SAMPLE_SECONDS:
                self._samples.append(_Sample(now, requests, lags))
            samples = list(self._samples)
        pairs = list(pairwise(samples))
        if len(pairs) < 2:
            return None
        rates = [round((b.requests - a.requests) / (b.at - a.at), 1) for a, b in pairs]
        return {
            "seconds": round(samples[-1].at - samples[0].at),
            "rates": plots.line(rates),
            "lags": {
                name: plots.line([each.lags.get(name, 0) for each in samples])
                for name in samples[-1].lags
            },
            "rows": [
                (round(samples[-1].at - b.at), rate, b.lags)
                for (_, b), rate in zip(pairs, rates, strict=True)
            ],
        }


def operation_pages(
    services: Services,
    policies: Policies,
    metrics: Metrics,
    sessions: Sessions,
    renderer: Renderer,
) -> list[HTTPRouteHandler]:
    """The page of the read models, and where its forms are sent."""
    stores, load = services.stores, _Load()
    # One at a time: a start occupies an interpreter for a second.
    inspecting, starting = CapacityLimiter(1), CapacityLimiter(1)

    async def show(request: AnyRequest) -> ASGIResponse:
        def work() -> bytes:
            requests = metrics.requests()
            total = sum(sum(buckets) for buckets, _ in requests.values())
            inspection = inspect(stores)
            # In this order: what has ended by now has told all of its result.
            under_way = is_under_way(stores.directory)
            return renderer.page(
                request,
                "operation.html",
                inspection=inspection,
                under_way=under_way,
                operation=read_operation(stores.directory),
                proofs=read_proofs(stores.directory),
                load=load.look(total, inspection),
                requests=total,
                routes=sorted(requests.items(), key=lambda each: -sum(each[1][0]))[:_ROUTES],
                within=_within,
                withheld=_withheld(policies),
                roles=[(role, policies.access((role,))) for role in policies.roles],
                actions=list(Action),
            )

        # As for /readyz: the first look at a new index opens it, which may take seconds.
        return html(await to_thread.run_sync(work, limiter=inspecting))

    async def take(request: AnyRequest, fields: dict[str, str]) -> ASGIResponse:
        order = _order(services.settings, request.user.name, fields)
        await to_thread.run_sync(start, order, limiter=starting)
        return redirect(ADDRESS)

    return [page(ADDRESS, OPERATING, show), form(ADDRESS, OPERATING, take, sessions)]


def _order(settings: Settings, by: str, fields: Mapping[str, str]) -> Order:
    """The order in a form; raises InvalidInput for a malformed one."""
    given = {
        "work": fields.get("work"),
        "what": fields.get("what"),
        "by": by,
        "data": os.fspath(settings.directory),
        "database": settings.database_url,
        "search": settings.search_url,
    }
    try:
        return msgspec.convert(given, type=Order)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"no such operation: {error}") from None


def _within(buckets: list[int], share: float) -> float | None:
    """The bound in ms within which this share of answers came; None beyond the last bound."""
    wanted, seen = share * sum(buckets), 0
    for bound, count in zip(BUCKETS, buckets, strict=False):
        seen += count
        if seen >= wanted:
            return 1000 * bound
    return None


def _withheld(policies: Policies) -> list[dict[str, Any]]:
    """The fields that each role does not see, with their kinds and actions."""
    rows: list[dict[str, Any]] = []
    for role in policies.roles:
        hidden: dict[tuple[str, frozenset[str]], list[str]] = {}
        by_action = policies.access((role,)).hidden
        for action in Action:
            for kind, withheld in by_action.get(action, {}).items():
                hidden.setdefault((kind, withheld.paths), []).append(action.value)
        kinds: dict[tuple[frozenset[str], tuple[str, ...]], list[str]] = {}
        for (kind, paths), actions in hidden.items():
            kinds.setdefault((paths, tuple(actions)), []).append(kind)
        rows += [
            {"role": role, "fields": sorted(paths), "kinds": named, "actions": actions}
            for (paths, actions), named in kinds.items()
        ]
    return rows
