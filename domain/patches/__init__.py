"""JSON as documents that change: read within bounds, compared, and patched."""
