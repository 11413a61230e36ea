"""Aggregations: buckets counted per segment by whole arrays, merged over segments by their keys."""
