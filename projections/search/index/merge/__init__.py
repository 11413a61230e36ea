"""Several segments to one: which, when, and how."""
