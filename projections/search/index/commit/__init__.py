"""One commit after another: `commit_writer` writes them, `commit_follower` follows them."""
