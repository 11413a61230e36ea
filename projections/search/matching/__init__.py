"""What every search engine matches by: terms, weights, values of queries, bounds, the time."""
