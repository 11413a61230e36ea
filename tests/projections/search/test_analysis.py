"""Memory of analysed texts."""

import tracemalloc

from projections.search.analysis import tokens


def test_tokens_of_long_texts_are_remembered_for_few():
    # Of the same words, as those take long to analyse, and are remembered for themselves.
    words = [f"word{number}" for number in range(1_060)]
    texts = [" ".join(words[number : number + 1_000]) for number in range(60)]
    tracemalloc.start()
    try:
        for text in texts:
            tokens(text)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert tokens(texts[-1]) is tokens(texts[-1])
    assert held < 5_000_000
