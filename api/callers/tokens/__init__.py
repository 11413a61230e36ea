"""Bearer tokens: the trusted issuers, their keys, and the checks of a token."""
