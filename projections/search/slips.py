"""Slips of the pen, by which one word becomes another."""


def are_within(one: str, other: str, slips: int) -> bool:
    """Return True if it takes at most so many slips to make one word of the other.

    A slip adds, leaves out or replaces a letter, or exchanges two neighbours. The letters that two
    words begin with alike need none, so the first slip is at the first letters that differ.
    """
    if one == other:
        return True
    if not slips or abs(len(one) - len(other)) > slips:
        return False
    pairs = enumerate(zip(one, other, strict=False))
    same = next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))
    one, other = one[same:], other[same:]
    return (
        are_within(one[1:], other[1:], slips - 1)
        or are_within(one[1:], other, slips - 1)
        or are_within(one, other[1:], slips - 1)
        or (one[:2] == other[1::-1] and len(one) > 1 and are_within(one[2:], other[2:], slips - 1))
    )
