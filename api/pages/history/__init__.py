"""Pages of the past: what changed, who did it, and two versions side by side."""
