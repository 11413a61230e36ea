"""The routes, built from the registry of kinds."""
