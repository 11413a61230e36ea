"""How read models are fed: states folded from the log in, one commit with its checkpoint out."""
