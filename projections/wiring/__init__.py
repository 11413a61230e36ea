"""Which stores a process opens, where each read model is kept, and who feeds it."""
