"""Words of writing systems with combining marks, and memory of analysed texts."""

import tracemalloc

import pytest

from projections.search.analysis import places, segments, tokens


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ग्राहक तालिका हिन्दी में", ["ग्राहक", "तालिका", "हिन्दी", "में"]),
        ("வாடிக்கையாளர் பெயர்", ["வாடிக்கையாளர்", "பெயர்"]),
        ("ข้อมูลลูกค้า.ชื่อ", ["ข้อมูลลูกค้า", "ชื่อ"]),
        ("שָׁלוֹם", ["שָׁלוֹם"]),
        ("x\u030cyz", ["x\u030cyz"]),  # there is no composed letter
        ("\u0301ab", ["ab"]),  # there is no letter before it
        ("a\ufe0fb 1\ufe0f\u20e3", ["a", "b", "1"]),  # how an emoji is drawn
    ],
)
def test_a_combining_mark_belongs_to_the_letter_before_it(text: str, words: list[str]) -> None:
    assert tokens(text).parts == tuple(words)
    assert [text[begin:end] for begin, end, _ in places(text)] == words
    assert [token for *_, token in places(text)] == words
    assert [text[begin:end] for begin, end, _ in segments(text)] == words


def test_words_with_marks_stay_whole_in_names() -> None:
    assert tokens("हिन्दी_तालिका2").parts == ("हिन्दी", "तालिका", "2")
    assert ("हिन्दी_तालिका2", 0) in tokens("हिन्दी_तालिका2").wholes
    assert [token for *_, token in segments("a हिन्दी_तालिका2")] == ["a", "हिन्दी_तालिका2"]


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
