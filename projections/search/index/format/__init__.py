"""The index on disk: terms, arrays, the schema, Whoosh's codec, files and manifest."""
