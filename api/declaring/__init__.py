"""The declaration of a route: its path, its query parameters and its handler."""
