"""The names that a search may give as its `index`: indexes, and aliases of several of them.

The name of a kind is an alias of its index and of the indexes of all kinds below it, as in
OpenMetadata. An index that only OpenMetadata has is known too, and empty.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache

from domain.errors import InvalidInput
from domain.kinds.registry import ATTACHED, KINDS, kinds_below

ALL = "all"
"""The alias of all indexes."""
SERVICES = "service"
DATA_ASSETS = "dataAsset"
_DATA_ASSETS = frozenset(
    {
        *("apiCollection", "apiEndpoint", "chart", "container", "dashboard", "dashboardDataModel"),
        *("database", "databaseSchema", "dataProduct", "directory", "file", "glossaryTerm"),
        *("metric", "mlmodel", "pipeline", "searchIndex", "spreadsheet", "storedProcedure"),
        *("table", "tag", "topic", "worksheet"),
    }
)
"""The kinds that OpenMetadata counts as data assets, be they kinds of this catalog or not."""
_OTHER_KINDS = (
    *("apiCollection", "apiEndpoint", "apiService", "chart", "contextMemory"),
    *("dashboardDataModel", "directory", "driveService", "file", "ingestionPipeline"),
    *("metadataService", "metric", "pipelineStatus", "query", "queryCostRecord"),
    *("securityService", "spreadsheet", "storedProcedure", "testCase"),
    *("testCaseResolutionStatus", "testCaseResult", "testSuite", "worksheet"),
)
"""The kinds that OpenMetadata has an index for and this catalog may not have."""
_OTHER_REPORTS = (
    *("entityReportData", "webAnalyticEntityViewReportData", "webAnalyticUserActivityReportData"),
    *("RawCostAnalysisReportData", "AggregatedCostAnalysisReportData"),
)
"""Reports that OpenMetadata has an index for."""
_OTHER_SPELLINGS = {"mlModelService": "mlmodelService"}
"""OpenMetadata's alias of a kind, where it is not the name of the kind."""
_EVERYWHERE = frozenset.intersection(*map(kinds_below, KINDS))
_APART = _EVERYWHERE | ATTACHED


def kinds_of(index: str) -> frozenset[str] | None:
    """The kinds that the names in `index` mean, separated by commas; None for all kinds.

    Raises InvalidInput for a name that means nothing.
    """
    names = [name.strip() for name in index.split(",")]
    kinds = [kinds_named(name) for name in names]
    return None if ALL in names else frozenset().union(*kinds)


def kinds_named(name: str) -> frozenset[str]:
    """The kinds that one name means, none for an index that only OpenMetadata has.

    Raises InvalidInput for a name that means nothing.
    """
    if name == ALL:
        return frozenset(KINDS)
    kinds = meanings().get(name)
    if kinds is None:
        indexes = ", ".join(sorted(kind.index for kind in KINDS.values()))
        raise InvalidInput(
            f"index must be {ALL} or one of {indexes}, {DATA_ASSETS}, {SERVICES}, or a kind such as"
            f" table, got {name[:80]!r}"
        )
    return kinds


@cache
def meanings() -> Mapping[str, frozenset[str]]:
    """Each name but that of all indexes -> the kinds that it means."""
    # A contract may be about any entity, and is for that in no part of the hierarchy; who asks for
    # tables does not ask for their tests.
    kinds = {
        name: {name} | (kinds_below(name) - (_APART if name not in _APART else _EVERYWHERE))
        for name in KINDS
    }
    others = [*_OTHER_KINDS, *_OTHER_REPORTS]
    others += [f"{_snake(name)}_search_index" for name in _OTHER_KINDS]
    others += [f"{_snake(name)}_index" for name in _OTHER_REPORTS]
    known: dict[str, Iterable[str]] = {
        **dict.fromkeys(others, ()),
        DATA_ASSETS: _DATA_ASSETS & KINDS.keys(),
        SERVICES: [name for name in KINDS if name.endswith("Service")],
        **kinds,
        **{alias: kinds[name] for alias, name in _OTHER_SPELLINGS.items()},
        **{kind.index: [kind.name] for kind in KINDS.values()},
    }
    return {name: frozenset(meant) for name, meant in known.items()}


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
