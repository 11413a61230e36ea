"""The paths that clients ask for, turned into the paths that routes have."""
