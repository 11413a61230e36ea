"""Routes of measurements: profiles, results of tests, usage, joins and costs of queries."""
