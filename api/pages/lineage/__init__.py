"""The picture of the lineage: what an entity is made of and what is made of it, as SVG."""
