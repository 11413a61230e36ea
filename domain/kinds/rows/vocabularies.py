"""Classifications with their tags, and glossaries with their terms."""

from domain.kinds.bodies import vocabularies
from domain.kinds.entity_kind import EntityKind

ROWS = (
    EntityKind(
        name="classification",
        body=vocabularies.Classification,
        renamable=True,
        root=True,
        large=("autoClassificationConfig",),
    ),
    EntityKind(
        name="tag",
        body=vocabularies.Tag,
        renamable=True,
        parents=("parent", "classification"),
        inherits=("classification",),
        large=("recognizers",),
        searched={"classification.name": 1},
    ),
    EntityKind(
        name="glossary",
        collection="glossaries",
        body=vocabularies.Glossary,
        renamable=True,
        root=True,
    ),
    EntityKind(
        name="glossaryTerm",
        body=vocabularies.GlossaryTerm,
        renamable=True,
        parents=("parent", "glossary"),
        inherits=("glossary",),
        large=("relatedTerms", "references", "conceptMappings"),
        searched={"synonyms": 5, "glossary.name": 1},
    ),
)
