"""The page of search: its box, hits, facets and suggestions."""
