"""What the log tells of the past: histories, changes, and who made them."""
