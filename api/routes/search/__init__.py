"""Routes of searches: hits, facets, suggestions and single documents."""
