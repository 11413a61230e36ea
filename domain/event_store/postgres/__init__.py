"""The event store port on PostgreSQL; the only room that knows its driver, psycopg."""
