"""Sign-in, by which a person becomes a caller: sessions, an identity provider, one-time links."""
