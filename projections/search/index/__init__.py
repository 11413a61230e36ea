"""The search engine: a Whoosh index whose inverted index is flat numpy arrays."""
