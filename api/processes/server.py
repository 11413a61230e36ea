"""Serves the application, projects, or does both in one process."""

import ctypes
import gc
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial

import uvicorn

from api.app import Application, create_app
from api.callers.tokens.verifier import TokenVerifier, open_verifier
from api.edge.answering import AnsweringProtocol
from api.edge.connections import bounded
from api.processes.first_start import make_new_catalog
from api.processes.sharing_server import SharingServer
from api.processes.termination import Termination
from api.services import make_services, open_measurements
from api.settings import Settings
from api.telemetry.logs import LogWriter
from api.telemetry.metrics import Metrics
from api.telemetry.shared_counts import SharedCounts
from domain.measurements.port import Measurements
from domain.measurements.sweeping import Sweeper
from domain.openlineage.keeping import LATE
from domain.openlineage.mapping_file import MappingFile
from projections.feeding.daemon import (
    ALONE_SECONDS,
    POLL_SECONDS,
    Daemon,
    ProjectorLock,
    Steps,
)
from projections.wiring.reactions import drawing_late, judging
from projections.wiring.stores import Stores, make_directory, open_stores

_BACKLOG = 2_048
_GRACE_SECONDS = 10
_SWITCH_SECONDS = 0.001
"""Time after which threads give the interpreter to the event loop, by default 5 ms."""
_PARENT_SECONDS = 1.0
_CHECK_SECONDS = 0.1
_M_ARENA_MAX = -8
"""The parameter of mallopt(3) for the number of arenas, from glibc's malloc.h."""
_M_MMAP_THRESHOLD, _M_TRIM_THRESHOLD = -3, -1
"""The parameters of mallopt(3) for the size from which on memory is mapped alone, and for the free
memory that is kept."""
_ARENAS = 2
_MAPPED_ALONE = 4 * 1024 * 1024
"""Bytes of memory that are mapped alone; the arrays that searches often allocate are smaller."""
_KEPT_FREE = 32 * 1024 * 1024
_COLLECT_AFTER = (10_000, 20, 50)
"""New objects before a collection of the young ones, and collections before one of older ones."""


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes a free one. Raises OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((host, port))
    listener.listen(_BACKLOG)
    return listener


def share_memory() -> None:
    """Let threads allocate from the same few arenas; to be called before any thread starts.

    By default glibc gives almost every thread an arena of its own, and each keeps what its largest
    answer took: under hostile load that was 100 MB. And once some megabytes were freed, it takes
    such memory from an arena, where what lies behind keeps the system from having it back; the
    texts of large entities are mapped alone instead. Other C libraries have no arenas.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, _ARENAS)
        mallopt(_M_MMAP_THRESHOLD, _MAPPED_ALONE)
        mallopt(_M_TRIM_THRESHOLD, _KEPT_FREE)


def collect_rarely() -> None:
    """Have the garbage collector look at fewer objects, less often; call it before serving.

    A collection holds the interpreter while it looks at every object. The objects of the program
    stay, and need no looking at; those of a large JSON text are a tree, which is freed without the
    collector, but by default their number alone causes collections of everything: a change of one
    column of a wide table made other requests wait for 100 to 200 ms.

    Enables the collector, which is off while a process starts: what a start makes is there to stay,
    and looking at it took an eighth of the time.
    """
    gc.freeze()
    gc.set_threshold(*_COLLECT_AFTER)
    gc.enable()


_REACTION_PAUSE = 0.2
"""Seconds for which a reaction gathers what happens."""


def make_daemon(stores: Stores, settings: Settings, reactions: Sequence[Steps] = ()) -> Daemon:
    """The projectors of opened stores, and reactions.

    Search collects writes for `search_refresh` seconds.

    Lists in a file take what is written here from the thread that has appended it.
    """
    daemon = Daemon(
        [*stores.supervisors, *reactions],
        stores.directory,
        pauses={
            "search": settings.search_refresh,
            **{reaction.name: _REACTION_PAUSE for reaction in reactions},
        },
        at_once=stores.fed_at_once,
        # Lists are built in a fraction of the time, and pages are there with them. What draws late
        # edges finds services in them.
        after={"search": "entities", LATE: "entities"},
        poll_seconds=ALONE_SECONDS if settings.workers == 1 else POLL_SECONDS,
        log=stores.log,
    )
    for supervisor in stores.supervisors:
        supervisor.on_progress = partial(daemon.progressed, supervisor.name)
    return daemon


def serve_alone(
    settings: Settings,
    listener: socket.socket,
    verifier: TokenVerifier,
    writer: LogWriter,
    counts: SharedCounts,
    termination: Termination,
    announce: Callable[[], None],
) -> None:
    """Project and serve in this process until SIGTERM or SIGINT.

    Calls `announce` once the stores are open. Raises StoreUnavailable when they cannot be opened,
    or when another process projects them.
    """
    share_memory()
    sys.setswitchinterval(_SWITCH_SECONDS)
    with _projecting(settings) as (stores, daemon):
        announce()
        with closing(make_services(settings, stores, daemon)) as services:
            app = create_app(services, verifier, writer, Metrics(counts))
            _serve(uvicorn.Server(_config(app, settings)), listener, termination)


def serve_worker(
    settings: Settings,
    listener: socket.socket,
    writer: LogWriter,
    counts: SharedCounts,
    termination: Termination,
) -> None:
    """Serve until SIGTERM or SIGINT, while another process projects."""
    share_memory()
    sys.setswitchinterval(_SWITCH_SECONDS)
    _stop_with_parent()
    verifier = open_verifier(settings)
    stores = open_stores(
        settings.directory, settings.database_url, settings.search_url, writable=False
    )
    with closing(verifier), closing(stores), closing(make_services(settings, stores)) as services:
        app = create_app(services, verifier, writer, Metrics(counts))
        _serve(SharingServer(_config(app, settings), counts), listener, termination)


def project(settings: Settings, counts: SharedCounts, termination: Termination) -> None:
    """Project without serving until SIGTERM or SIGINT."""
    threading.Thread(target=_beat, args=(counts,), name="heartbeat", daemon=True).start()
    _stop_with_parent()
    with _projecting(settings):
        while True:
            termination.check()
            time.sleep(_CHECK_SECONDS)


def _beat(counts: SharedCounts) -> None:
    """Give signs of life for as long as the process can run Python at all."""
    while True:
        counts.own.beat()
        time.sleep(_CHECK_SECONDS)


@contextmanager
def _projecting(settings: Settings) -> Iterator[tuple[Stores, Daemon]]:
    """Open the stores and run their projectors for a block, as no other process may then."""
    make_directory(settings.directory)
    with ProjectorLock(settings.directory):
        make_new_catalog(settings.directory, settings.database_url)
        stores = open_stores(
            settings.directory,
            settings.database_url,
            settings.search_url,
            history_days=settings.history_days,
        )
        try:
            mapping = MappingFile(settings.openlineage)
            with closing(open_measurements(settings)) as measurements:
                reactions = [
                    judging(stores, measurements),
                    drawing_late(stores, measurements, mapping),
                ]
                daemon = make_daemon(stores, settings, reactions)
                try:
                    daemon.start()
                    with _sweeping(measurements, stores):
                        yield stores, daemon
                finally:
                    stores.interrupt()
                    daemon.stop()
        finally:
            stores.close()


@contextmanager
def _sweeping(measurements: Measurements, stores: Stores) -> Iterator[None]:
    """Delete measurements of purged entities, and old ones, from time to time during a block."""
    sweeper = Sweeper(
        measurements,
        lambda ids: {claim.id for claim in stores.log.claims(ids=ids)},
        lambda: next((each.event.at for each in stores.log.read(0, 1, newest_first=True)), 0),
    )
    sweeper.start()
    try:
        yield
    finally:
        sweeper.stop()


def _stop_with_parent() -> None:
    """Send this process SIGTERM once its parent process has ended."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_PARENT_SECONDS)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="parent-watch", daemon=True).start()


def _config(app: Application, settings: Settings) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        lifespan="on",
        http=bounded(
            AnsweringProtocol, app.edge, settings.max_connections, settings.receive_timeout
        ),
        log_config=None,
        access_log=False,
        server_header=False,
        # With them, any program of this machine could make up the address of its client.
        proxy_headers=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        timeout_keep_alive=75,
        ws="none",
    )


def _serve(server: uvicorn.Server, listener: socket.socket, termination: Termination) -> None:
    """Answer requests until a signal comes, which uvicorn raises once more at the end."""
    collect_rarely()
    termination.check()
    server.run(sockets=[listener])
