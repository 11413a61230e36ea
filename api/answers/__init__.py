"""Bodies in and answers out: read within bounds, encoded, compressed and remembered."""
