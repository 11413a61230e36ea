"""The log of events, on the library eventsourcing; the only room that touches its database."""
