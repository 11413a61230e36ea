"""Everything derived from the log; all of it can be thrown away and built again."""
