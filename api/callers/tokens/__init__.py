"""Bearer tokens: who may issue them, with which keys, and how they are checked."""
