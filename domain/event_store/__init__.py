"""The log of events behind its port; the only room that knows which database holds it."""
