"""What routes and pages do alike for a caller: read, change and search entities."""
