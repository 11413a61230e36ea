"""Pages that only contracts have: results, badges, and changes with what they hit."""
