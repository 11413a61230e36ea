"""How a person becomes a caller: sessions, the identity provider, and links that sign in once."""
