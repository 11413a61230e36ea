"""Documents of the Open Data Contract Standard (ODCS), and what they say of contracts."""
