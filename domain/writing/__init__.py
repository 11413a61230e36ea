"""Writes of entities and of the lineage, planned on the newest state and appended to the log."""
