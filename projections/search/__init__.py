"""Full-text search: query text and filters to one tree, documents, and engines behind a port."""
