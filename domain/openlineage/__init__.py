"""What pipelines tell by OpenLineage of their runs becomes lineage, pipelines and results."""
