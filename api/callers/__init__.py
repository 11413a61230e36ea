"""Who calls, from where, and what each caller may do and take."""
