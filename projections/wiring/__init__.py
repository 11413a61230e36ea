"""The stores that a process opens, the places of the read models, and their feeders."""
