"""The body of a write: checked, and its references resolved, before anything is decided."""
