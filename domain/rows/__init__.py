"""The kinds of entities, a row each, by family; `domain.registry` puts them together."""
