"""Operates the read models from the log, without the server."""
