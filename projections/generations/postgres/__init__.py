"""Generations in a PostgreSQL database that hosts share: their shelf, and who leads."""
