"""The product's server, whose log is projected into the sorted read model only.

The figures that it is for are not about search.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from api.callers.tokens.verifier import open_verifier
from api.processes import server
from api.processes.termination import Termination
from api.settings import Settings, read_settings
from api.telemetry.logs import open_log_writer
from api.telemetry.shared_counts import SharedCounts
from projections.feeding.daemon import ALONE_SECONDS, Daemon, Steps
from projections.wiring.stores import Stores


def make_daemon(stores: Stores, settings: Settings, reactions: Sequence[Steps] = ()) -> Daemon:
    """The projector of the sorted read model, without reactions."""
    supervisors = [each for each in stores.supervisors if each.name == "entities"]
    return Daemon(
        supervisors,
        stores.directory,
        at_once=stores.fed_at_once,
        poll_seconds=ALONE_SECONDS,
        log=stores.log,
    )


def main(directory: Path) -> None:
    """Serve until stopped; the address is the last word of the first line of output."""
    server.make_daemon = make_daemon
    settings = read_settings(port=0, data=str(directory))
    listener = server.bind(settings.host, settings.port)
    host, port = listener.getsockname()
    print(f"listening on http://{host}:{port}", flush=True)
    counts = SharedCounts.made(1)
    with open_log_writer(counts.own.count_dropped_line, shared=False) as writer:
        verifier, termination = open_verifier(settings), Termination()
        termination.install()
        server.serve_alone(settings, listener, verifier, writer, counts, termination, lambda: None)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
