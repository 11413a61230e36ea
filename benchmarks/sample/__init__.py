"""A made-up catalog, whatever its size: what it is made of, and in which order."""
