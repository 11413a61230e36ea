"""The port of the sorted read model over a schema of a PostgreSQL database."""
