"""The query tree against the segments of a commit: documents and scores, by whole arrays."""
