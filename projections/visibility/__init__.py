"""Visibility: the paths of fields, and how withheld fields are cut out and refused."""
