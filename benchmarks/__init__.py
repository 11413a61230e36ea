"""Measures the budgets, each beside a yardstick of the same run; no part of the product."""
