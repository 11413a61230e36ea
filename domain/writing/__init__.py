"""Every write but an import: planned on the newest state, and appended to the log."""
