"""`python -m tests.e2e.origin DESCRIPTOR` is the process that commands are forked from."""

import atexit
import importlib
import sys

from tests.e2e.spares import leave

if __name__ == "__main__":
    # Called last, as nothing has been imported yet that is called at the end as well.
    atexit.register(leave)
    importlib.import_module("tests.e2e.forked").main(int(sys.argv[1]))
