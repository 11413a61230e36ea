"""The sorted read model in a SQLite file: the only room of projections that knows its tables."""
