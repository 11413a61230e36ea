"""The payload of each kind: the keys a caller may write, as OpenMetadata names them."""
