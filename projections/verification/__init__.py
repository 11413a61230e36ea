"""Proves that the read models hold exactly what a replay of the log gives."""
