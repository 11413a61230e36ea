"""How a route is declared: its path, its query parameters and its handler."""
