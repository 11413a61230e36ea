"""Callers: who calls, from where, and the bounds of what each caller may do and take."""
