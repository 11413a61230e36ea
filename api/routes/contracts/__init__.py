"""Documents of contracts, their comparison, validation, results and badges."""
