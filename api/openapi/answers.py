"""Answers of the API: entities, lists, histories and search results."""

from api.openapi.json_schema import COUNT, NAME, NULL, TEXT, UUID, Schema, array, closed_object, ref
from api.openapi.requests import REFERENCE
from domain.kinds.entity_kind import FORMER_NAMES, EntityKind
from domain.kinds.registry import KINDS, sole_kinds_below
from projections.search.answers import highlighting

ABOUT_AGREEMENTS = {"latestResult": ref("LatestResult"), "verdict": ref("Verdict")}
"""Key that reads of agreements add -> its schema."""

_FORMER_NAMES: Schema = {
    **array(TEXT),
    "description": "Qualified names before renames, which lead to the entity too; not below /api.",
}


def shown(kind: EntityKind, given: Schema) -> Schema:
    """An entity as it is answered: references resolved, nothing null, secrets left out.

    One schema serves lists, single entities and histories, so keys that depend on `fields`
    are not required.
    """
    body = {
        key: resolved(schema)
        for key, schema in given["properties"].items()
        if key in kind.keys and key != "name"
    }
    if kind.suites is not None:
        group = {"id": UUID, "name": NAME, "fullyQualifiedName": TEXT}
        body[kind.suites.key] = array(closed_object(group))
    always = [key for key in given["required"] if key in body and key not in kind.optional]
    if kind.statuses:
        body["entityStatus"] = {"enum": list(kind.statuses)}
        always.append("entityStatus")
    properties = {
        "id": UUID,
        "name": NAME,
        "fullyQualifiedName": TEXT,
        **body,
        "version": {"type": "number", "minimum": 0.1},
        "updatedAt": {"type": "integer", "description": "Milliseconds since the Unix epoch."},
        "updatedBy": TEXT,
        "deleted": {"const": True, "description": "There only when soft-deleted."},
        "changeDescription": ref("ChangeDescription"),
        **(ABOUT_AGREEMENTS if kind.agreement else {}),
        **({FORMER_NAMES: _FORMER_NAMES} if kind.renamable else {}),
        **{field: array(ref("EntityReference")) for field in kind.members},
        **{other: ref("EntityReference") for other in sole_kinds_below(kind.name)},
    }
    return {
        "type": "object",
        "description": given.get("description", ""),
        "properties": properties,
        "required": [
            *("id", "name", "fullyQualifiedName", "version", "updatedAt", "updatedBy"),
            *dict.fromkeys(always),
        ],
        "additionalProperties": False,
    }


def resolved(schema: Schema) -> Schema:
    """The schema of a key as it is recorded: never null, and an object where a text is allowed."""
    if schema == ref(REFERENCE):
        return ref("EntityReference")
    if "items" in schema:
        return {**schema, "items": resolved(schema["items"])}
    if "anyOf" not in schema:
        return schema
    options = [option for option in schema["anyOf"] if option != NULL]
    if any("$ref" in option for option in options):
        options = [option for option in options if option != TEXT]
    options = [resolved(option) for option in options]
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    return {**options[0], **rest} if len(options) == 1 else {**rest, "anyOf": options}


def shared_answers(reference: Schema) -> dict[str, Schema]:
    """Schemas of the answers that no Struct describes, by component name."""
    known = {key: resolved(value) for key, value in reference["properties"].items()}
    after = {**TEXT, "description": "The `after` of the next page, if there is one."}
    paging = closed_object({"total": COUNT, "after": after}, "after")
    cursor = {"type": "string", "description": "Opaque; there only when there is such a page."}
    purged = {
        **COUNT,
        "description": "Of a list of the past: those of the kind, in the deletion state and with"
        " the status asked for, that were there and are purged by now; absent without any.",
    }
    return {
        "EntityReference": {
            "type": "object",
            "description": "Another entity.",
            "properties": {**known, "id": UUID},
            "required": ["id", "type"],
            "additionalProperties": False,
        },
        "Paging": closed_object(
            {"total": COUNT, "before": cursor, "after": cursor, "purged": purged},
            "before",
            "after",
            "purged",
        ),
        "EntityVersions": closed_object(
            {
                "entityType": {"enum": list(KINDS)},
                "versions": array(
                    {"type": "string", "contentMediaType": "application/json"},
                    description="The entity as each version left it, the newest first.",
                ),
            }
        ),
        "AuditLine": {"anyOf": [ref("AuditEvent"), closed_object({"paging": ref("AuditPaging")})]},
        "McpResponse": {
            "type": "object",
            "description": "A response of the Model Context Protocol: `result` or `error`.",
            "required": ["jsonrpc"],
            "properties": {
                "jsonrpc": {"const": "2.0"},
                "id": {"anyOf": [TEXT, {"type": "integer"}]},
                "result": {"type": "object"},
                "error": {"type": "object"},
            },
        },
        "TestConnectionDefinition": closed_object(
            {"name": TEXT, "steps": {"type": "array", "maxItems": 0}}
        ),
        **{
            f"Measured{name}": {
                "type": "object",
                "description": description,
                "properties": {"id": UUID},
                "required": ["id"],
            }
            for name, description in (
                ("Table", "A table, with `profile`, `columns.profile` or `sampleData`."),
                ("Topic", "A topic, with `sampleData`."),
                ("TestCase", "A test case, with `failedRowsSample`."),
                ("Pipeline", "A pipeline."),
                ("IngestionPipeline", "An ingestion pipeline."),
            )
        },
        **{
            f"{name}List": closed_object({"data": array(ref(name)), "paging": paging})
            for name in (
                "TableProfile",
                "ColumnProfile",
                "SystemProfile",
                "TestResult",
                "PipelineRun",
                "IngestionRun",
                "ContractResult",
            )
        },
        "EntityTypeList": closed_object(
            {
                "data": array(ref("EntityType")),
                "paging": closed_object({"total": COUNT, "after": TEXT}, "after"),
            }
        ),
        "ColumnPage": closed_object(
            {
                "data": array({"type": "object", "required": ["name", "dataType"]}),
                "paging": closed_object({"total": COUNT, "offset": COUNT, "limit": COUNT}),
            }
        ),
        "EntityUsage": closed_object(
            {
                "entity": {"type": "object", "required": ["id", "type"]},
                "usage": array(ref("UsageSummary")),
            }
        ),
        "DeleteJob": closed_object({"jobId": TEXT, "message": TEXT}),
        "References": closed_object(
            {"data": array(ref("EntityReference")), "paging": closed_object({"total": COUNT})}
        ),
        "EntityHierarchy": closed_object(
            {
                "id": UUID,
                **dict.fromkeys(("name", "fullyQualifiedName", "displayName", "description"), TEXT),
                "children": array(ref("EntityHierarchy")),
            },
            *("displayName", "description", "children"),
        ),
        "EntityHierarchyList": closed_object(
            {"data": array(ref("EntityHierarchy")), "paging": closed_object({"total": COUNT})}
        ),
        "ProfilerSettings": closed_object(
            {
                "config_type": {"const": "profilerConfiguration"},
                "config_value": closed_object(
                    {"metricConfiguration": {"type": "array", "maxItems": 0}}
                ),
            }
        ),
        "Health": closed_object({"status": {"const": "alive"}, "release": TEXT, "commit": TEXT}),
        **_search(),
    }


def _search() -> dict[str, Schema]:
    """Schemas of the search response, by component name."""
    sort_value = {"type": ["string", "number", "null"]}
    objects = array({"type": "object"})
    column = {key: TEXT for key in ("name", "dataType", "fullyQualifiedName")}
    texts = ("name", "displayName", "fullyQualifiedName", "serviceType", "description")
    source: Schema = {
        "type": "object",
        "description": "The entity's document, less the fields that were not asked for.",
        "properties": {
            "id": UUID,
            **dict.fromkeys(texts, TEXT),
            "entityType": {"enum": list(KINDS)},
            "owners": objects,
            "tags": objects,
            "deleted": {"type": "boolean"},
            "columns": array({"type": "object", "properties": column}),
        },
        "additionalProperties": True,
    }
    ancestor = {
        "id": UUID,
        "type": {"enum": list(KINDS)},
        **dict.fromkeys(("name", "displayName", "fullyQualifiedName"), TEXT),
        "deleted": {"type": "boolean"},
    }
    hit = {
        "_index": {"enum": sorted(kind.index for kind in KINDS.values())},
        "_id": UUID,
        "_score": {"type": ["number", "null"]},
        "_source": ref("SearchSource"),
        "sort": array(sort_value, description="With sortField."),
        "hierarchy": array(
            closed_object(ancestor, *(key for key in ancestor if key not in ("id", "type"))),
            description="Ancestors from the root down, with getHierarchy.",
        ),
        "highlight": {
            "type": "object",
            "additionalProperties": array(TEXT),
            "description": "Pieces of texts by path, escaped for HTML, with the words of `q` in"
            f" `{highlighting.BEGIN}`.",
        },
    }
    option = {"text": TEXT, **{key: hit[key] for key in ("_index", "_id", "_score", "_source")}}
    suggested = {
        "text": TEXT,
        "offset": {"const": 0},
        "length": COUNT,
        "options": array(closed_object(option, "_source")),
    }
    hits = {
        "total": closed_object({"value": COUNT, "relation": {"enum": ["eq", "gte"]}}),
        "max_score": {"type": ["number", "null"]},
        "hits": array(ref("SearchHit")),
    }
    return {
        "SearchSource": source,
        "Aggregations": _aggregations(),
        "SearchHit": closed_object(hit, "_source", "sort", "hierarchy", "highlight"),
        "Suggestions": closed_object(
            {"suggest": closed_object({"metadata-suggest": array(closed_object(suggested))})}
        ),
        "SearchResponse": closed_object(
            {
                "took": {**COUNT, "description": "Milliseconds."},
                "timed_out": {"type": "boolean"},
                "_shards": closed_object(
                    dict.fromkeys(("total", "successful", "failed", "skipped"), COUNT)
                ),
                "hits": closed_object(hits),
                "aggregations": ref("Aggregations"),
                "scores": {
                    "const": "approximate",
                    "description": "Of a search as of the past over OpenSearch alone: scores, and"
                    " the order by them, are near those of then.",
                },
            },
            "aggregations",
            "scores",
        ),
    }


def _aggregations() -> Schema:
    """The schema of what came of aggregations, by typed name."""
    bucket: Schema = {
        "type": "object",
        "properties": {
            "key": {"type": ["string", "number"]},
            "key_as_string": TEXT,
            "doc_count": COUNT,
        },
        "required": ["key", "doc_count"],
        "additionalProperties": {"type": "object"},
        "description": "With aggregations inside by their typed names.",
    }
    return {
        "type": "object",
        "description": "`sterms#` and a name for texts, `dterms#` for numbers, `lterms#` for"
        " booleans and moments; `date_histogram#`; `top_hits#`, which have `hits`.",
        "additionalProperties": {
            "type": "object",
            "properties": {
                "doc_count_error_upper_bound": {"const": 0},
                "sum_other_doc_count": COUNT,
                "buckets": array(bucket),
                "hits": {"type": "object"},
            },
            "additionalProperties": False,
        },
    }
