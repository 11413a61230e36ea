"""Routes of the collections of entities: lists, single entities and their writes."""
