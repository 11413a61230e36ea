"""Entities, the rules of their changes, and the log that everything else is made from."""
