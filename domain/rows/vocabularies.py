"""Classifications with their tags, and glossaries with their terms."""

from domain.bodies import vocabularies
from domain.kinds import EntityKind

ROWS = (
    EntityKind(
        name="classification",
        collection="classifications",
        body=vocabularies.Classification,
        index="classification_search_index",
        since="0.2.0",
        root=True,
        large=("autoClassificationConfig",),
    ),
    EntityKind(
        name="tag",
        collection="tags",
        body=vocabularies.Tag,
        index="tag_search_index",
        since="0.2.0",
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
        index="glossary_search_index",
        since="0.2.0",
        root=True,
    ),
    EntityKind(
        name="glossaryTerm",
        collection="glossaryTerms",
        body=vocabularies.GlossaryTerm,
        index="glossary_term_search_index",
        since="0.2.0",
        parents=("parent", "glossary"),
        inherits=("glossary",),
        large=("relatedTerms", "references", "conceptMappings"),
        filters={"glossary": "glossary", "parent": "parent"},
        searched={"synonyms": 5, "glossary.name": 1},
    ),
)
