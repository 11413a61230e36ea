"""The one aggregate: a command and a state decide events, and events evolve a state."""
