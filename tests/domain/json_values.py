"""Strategies of JSON values, with the keys that pointers find hard and arrays of named objects."""

from hypothesis import strategies as st

scalars = st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-9, 9) | st.text(max_size=3)
keys = st.sampled_from(["", "a", "b/c", "~", "~1", "0", "id", "name", "tagFQN"]) | st.text(
    max_size=2
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(keys, inner, max_size=4)
        | st.lists(
            st.fixed_dictionaries({"name": st.sampled_from("abcd")}, optional={"x": inner}),
            max_size=4,
        )
    ),
    max_leaves=12,
)
