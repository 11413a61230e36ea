"""Files that dbt writes of a project, as far as OpenMetadata's connector reads them."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

PROJECT = "shop"
TEST = "not_null_revenue_day"
"""The name of the test."""
Node = dict[str, Any]

_MODELS = "models/models.yml"
_SCHEMAS = "https://schemas.getdbt.com/dbt"
_MOMENT = "%Y-%m-%dT%H:%M:%S.%fZ"
_EMPTY_PARTS = (
    "macros",
    "docs",
    "exposures",
    "metrics",
    "groups",
    "selectors",
    "disabled",
    "group_map",
    "saved_queries",
    "semantic_models",
    "unit_tests",
)
"""Parts of a manifest that must be there and may be empty."""


_COLUMNS = {"open_orders": {"id": "Said by dbt."}, "revenue": {"day": ""}}
"""Model -> the descriptions of its columns in the project."""
SQL = {
    "open_orders": "select id, note as email, ordered_at from sales.orders where status = 'open'",
    "revenue": "select ordered_at as day, count(id) as amount from sales.open_orders group by 1",
}
"""Model -> its text."""


def write(directory: Path, **descriptions: str) -> dict[str, str]:
    """Write manifest and results; returns what a workflow is configured with to read them.

    `descriptions` gives those of the models, by their names.
    """
    nodes = [
        _model("open_orders", ["source.shop.sales.orders"], descriptions),
        _model("revenue", ["model.shop.open_orders"], descriptions),
        _not_null("revenue", "day"),
    ]
    sources = [_source("orders")]
    manifest = {
        "metadata": {"dbt_schema_version": f"{_SCHEMAS}/manifest/v12.json"},
        **{part: {} for part in _EMPTY_PARTS},
        "nodes": {node["unique_id"]: node for node in nodes},
        "sources": {node["unique_id"]: node for node in sources},
        "parent_map": {node["unique_id"]: node["depends_on"]["nodes"] for node in nodes},
        "child_map": {node["unique_id"]: [] for node in nodes},
    }
    test = nodes[-1]["unique_id"]
    results = {
        "metadata": {
            "dbt_schema_version": f"{_SCHEMAS}/run-results/v6.json",
            "generated_at": datetime.now(UTC).strftime(_MOMENT),
        },
        "elapsed_time": 0.1,
        "args": {},
        "results": [_passed(test)],
    }
    # The connector looks for files with dbt's own names where it is told that they are.
    for name, content in (("manifest", manifest), ("run_results", results)):
        (directory / f"{name}.json").write_bytes(msgspec.json.encode(content))
    return {
        "dbtConfigType": "local",
        "dbtManifestFilePath": str(directory / "manifest.json"),
        "dbtRunResultsFilePath": str(directory / "run_results.json"),
    }


def _node(kind: str, schema: str, name: str, path: str, above: list[str]) -> Node:
    place = f"{schema}.{name}" if kind == "source" else name
    return {
        "database": "shop",
        "schema": schema,
        "name": name,
        "alias": name,
        "resource_type": kind,
        "package_name": PROJECT,
        "path": path,
        "original_file_path": path,
        "unique_id": f"{kind}.{PROJECT}.{place}",
        "fqn": [PROJECT, name],
        "checksum": {"name": "none", "checksum": ""},
        "depends_on": {"macros": [], "nodes": above},
    }


def _model(name: str, above: list[str], descriptions: dict[str, str]) -> Node:
    columns = {
        column: {"name": column, "description": text} for column, text in _COLUMNS[name].items()
    }
    return {
        **_node("model", "sales", name, f"models/{name}.sql", above),
        "config": {"materialized": "table"},
        "tags": ["gold"],
        "description": descriptions.get(name, ""),
        "columns": columns,
        "compiled": True,
        "compiled_code": SQL[name],
        "raw_code": SQL[name],
    }


def _source(name: str) -> Node:
    node = _node("source", "sales", name, _MODELS, [])
    del node["alias"], node["checksum"], node["depends_on"]
    return {
        **node,
        "source_name": "sales",
        "source_description": "",
        "loader": "",
        "identifier": name,
    }


def _not_null(model: str, column: str) -> Node:
    return {
        **_node("test", "tests", TEST, _MODELS, [f"model.{PROJECT}.{model}"]),
        "config": {"materialized": "test", "severity": "ERROR"},
        "column_name": column,
        "attached_node": f"model.{PROJECT}.{model}",
        "test_metadata": {
            "name": "not_null",
            "kwargs": {"column_name": column, "model": f"{{{{ ref('{model}') }}}}"},
        },
        "compiled": True,
        "compiled_code": f"select 1 from {model} where {column} is null",
    }


def _passed(test: str) -> Node:
    now = datetime.now(UTC).strftime(_MOMENT)
    timing = {"started_at": now, "completed_at": now}
    return {
        "unique_id": test,
        "status": "pass",
        "failures": 0,
        "timing": [{"name": "execute", **timing}],
        "thread_id": "Thread-1",
        "execution_time": 0.1,
        "adapter_response": {},
        "message": None,
        "compiled": True,
        "compiled_code": None,
        "relation_name": None,
    }
