"""The log in one SQLite file, on the library eventsourcing."""
