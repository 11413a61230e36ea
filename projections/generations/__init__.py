"""Blue-green generations of read models: built beside the live one, and switched."""
