"""Pages for people: what the catalog holds, read and searched in a browser."""
