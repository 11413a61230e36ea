"""The kinds of entities, a row each, by family; `domain.kinds.registry` puts them together."""
