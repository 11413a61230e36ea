"""Routes that OpenMetadata's connectors ask before they begin."""
