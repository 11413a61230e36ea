"""Pages for people: what the catalog holds, read, searched and changed in a browser."""
