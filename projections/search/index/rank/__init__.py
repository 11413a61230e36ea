"""The page of hits: the best by score or by a sorted field, without sorting all."""
