"""Generations of a read model: built beside the live one, switched to, supervised and removed."""
