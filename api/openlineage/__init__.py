"""The door for pipelines: takes events of OpenLineage, as its clients send them."""
