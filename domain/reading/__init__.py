"""The past as the log has it: histories, changes, and who made them."""
