"""Classifications with their tags, and glossaries with their terms."""

from domain.kinds.bodies import vocabularies
from domain.kinds.entity_kind import EntityKind

ROWS = (
    EntityKind(
        name="classification",
        collection="classifications",
        body=vocabularies.Classification,
        root=True,
        large=("autoClassificationConfig",),
    ),
    EntityKind(
        name="tag",
        collection="tags",
        body=vocabularies.Tag,
        parents=("parent", "classification"),
        inherits=("classification",),
        large=("recognizers",),
        filters={"classification": "classification", "parent": "parent"},
        searched={"classification.name": 1},
    ),
    EntityKind(
        name="glossary",
        collection="glossaries",
        body=vocabularies.Glossary,
        root=True,
    ),
    EntityKind(
        name="glossaryTerm",
        collection="glossaryTerms",
        body=vocabularies.GlossaryTerm,
        parents=("parent", "glossary"),
        inherits=("glossary",),
        large=("relatedTerms", "references", "conceptMappings"),
        filters={"glossary": "glossary", "parent": "parent"},
        searched={"synonyms": 5, "glossary.name": 1},
    ),
)
