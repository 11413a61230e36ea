"""The feeding of read models: states folded from the log in, one commit with its checkpoint out."""
