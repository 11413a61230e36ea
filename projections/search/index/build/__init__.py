"""Search documents to the arrays of a new segment."""
