"""Contracts and their results from dbt's artifacts: its manifest and the results of its runs."""
