"""The tools that read: a module for each, with what it takes and what it answers."""
