"""Generations in a PostgreSQL database that hosts share, and their leadership."""
