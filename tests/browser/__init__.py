"""A package, so that its browser ends with its last test: what the fixtures are scoped to."""
