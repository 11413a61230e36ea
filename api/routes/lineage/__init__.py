"""Routes of the lineage: walks from an entity, and edges written."""
