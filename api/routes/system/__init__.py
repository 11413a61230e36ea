"""Routes of operators and auditors: health, readiness, metrics, projections and the log."""
