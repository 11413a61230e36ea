"""OpenMetadata's requests and documents, where they differ from what is recorded."""
