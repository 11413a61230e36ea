"""The sorted read model: every entity as finished JSON, in the order that lists show."""
