"""Use cases that routes and pages share: read, change and search entities for a caller."""
