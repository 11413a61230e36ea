"""The kinds of entities: a row of data each, with its payload, its names and its ids."""
