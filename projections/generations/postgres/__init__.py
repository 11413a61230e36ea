"""Generations in a PostgreSQL database that hosts share, and the leader among the hosts."""
