"""What operators see of a running server: metrics and logs."""
