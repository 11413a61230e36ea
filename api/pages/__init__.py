"""Pages for people, who read and search the catalog in a browser."""
