"""Hands tests out to the processes of pytest-xdist by the handful.

xdist counts at each test that ends all that it has handed out one by one: with ten thousand tests
its own process would work for five seconds of a run.
"""

from hashlib import blake2b

from xdist.scheduler import LoadGroupScheduling

HANDFULS = 1_024


def place_of(node_id: str) -> bytes:
    """Return the place of a test among those that share nothing: that of its handful comes first.

    The order is none of folders: tests that wait for processes are to run beside those that work.
    """
    return blake2b(node_id.encode(), digest_size=8).digest()


def handful_of(node_id: str) -> str:
    """Return the name of the handful of a test that shares nothing, the same in every process."""
    return f"handful {int.from_bytes(place_of(node_id)) * HANDFULS >> 64}"


class Handfuls(LoadGroupScheduling):
    """Has one process run the tests of a group, and those of a handful."""

    def _split_scope(self, nodeid: str) -> str:
        # xdist writes the group behind the name, whose brackets may have the same sign in them.
        is_of_group = nodeid.rfind("@") > nodeid.rfind("]")
        return nodeid.rpartition("@")[2] if is_of_group else handful_of(nodeid)
