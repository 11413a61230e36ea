"""Operators' view of the read models: inspected, verified and rebuilt."""
