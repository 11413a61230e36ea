"""Pages of entities: lists, one entity with its parts, and forms that change it."""
