"""The port of measurements on tables in the PostgreSQL database of the log."""
