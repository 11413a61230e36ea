"""Proofs and rebuilds that a running server starts, in a process of their own."""
