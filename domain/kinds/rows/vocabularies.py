"""Classifications with their tags, and glossaries with their terms."""

from domain.kinds.bodies import vocabularies
from domain.kinds.entity_kind import EntityKind

ROWS = (
    EntityKind(
        name="classification",
        body=vocabularies.Classification,
        root=True,
        large=("autoClassificationConfig",),
    ),
    EntityKind(
        name="tag",
        body=vocabularies.Tag,
        parents=("parent", "classification"),
        inherits=("classification",),
        large=("recognizers",),
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
        body=vocabularies.GlossaryTerm,
        parents=("parent", "glossary"),
        inherits=("glossary",),
        large=("relatedTerms", "references", "conceptMappings"),
        searched={"synonyms": 5, "glossary.name": 1},
    ),
)
