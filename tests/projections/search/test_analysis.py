"""Memory of analysed texts."""

import tracemalloc

from projections.search.analysis import tokens


def test_tokens_of_long_texts_are_remembered_for_few():
    texts = [" ".join(f"w{number}x{place}" for place in range(1_000)) for number in range(60)]
    tracemalloc.start()
    try:
        for text in texts:
            tokens(text)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert tokens(texts[-1]) is tokens(texts[-1])
    assert held < 30_000_000
