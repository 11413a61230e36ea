"""The changes from one version of a contract to another, graded, and announced by a version."""
