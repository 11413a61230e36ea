"""HTTP in, HTTP out: authentication, permissions, parameters, responses."""
