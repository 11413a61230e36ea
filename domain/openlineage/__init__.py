"""Events of OpenLineage from pipelines become lineage, pipelines and results of runs."""
