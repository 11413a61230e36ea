"""Contracts judged: by whoever asks for it, and by a reaction whenever something bears on them."""
