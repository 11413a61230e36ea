"""The port of measurements on a SQLite file of the data directory."""
