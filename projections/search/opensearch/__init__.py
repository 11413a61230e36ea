"""The search engine over OpenSearch: the terms of our own index, kept and searched by its nodes."""
