"""Fields of OpenMetadata's search documents that this catalog does not keep.

OpenMetadata's clients ask for them. They are known here, so that such a question is answered and
no mistake: nothing has a value there, nor below.
"""

NOT_KEPT = frozenset(
    {
        # Computed from the entity, or about its parts.
        "childrenCount",
        "classificationTags",
        "columnDescriptionStatus",
        "customPropertiesTyped",
        "descriptionSources",
        "descriptionStatus",
        "fieldNames",
        "fieldNamesFuzzy",
        "fqnHash",
        "glossaryTags",
        "tagSources",
        "tier",
        "tierSources",
        "usageCount",
        "userCount",
        # How an entity came about.
        "changeDescription",
        "changeSummary",
        "createdAt",
        "createdBy",
        "href",
        "impersonatedBy",
        "incrementalChangeDescription",
        "inherited",
        # Lineage.
        "entityRelationship",
        "lineage",
        "upstreamEntityRelationship",
        "upstreamLineage",
        # What profilers, tests and pipelines report.
        "contractUpdates",
        "customMetrics",
        "dataContract",
        "joins",
        "latestResult",
        "pipelineObservability",
        "pipelineStatus",
        "queries",
        "sampleData",
        "tableProfile",
        "tests",
        # The other side of references that are kept on one side.
        "children",
        "follows",
        "inheritedRoles",
        "owns",
        # Tags and tables as OpenMetadata has them besides.
        "compressionEnabled",
        "compressionStrategy",
        "disabled",
        "location",
        # Older names of lists.
        "domain",
        "owner",
    }
)
"""Dotted paths; each of them means all paths below it too."""
