"""The query language: texts and filter JSON to the query tree, its leaves typed by their fields."""
