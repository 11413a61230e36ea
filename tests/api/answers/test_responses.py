"""Answers that take long to make: in threads, in turns, streamed, and stopped when nobody waits."""

import asyncio
import threading
from collections.abc import Generator
from typing import Any

import pytest
from litestar.response.base import ASGIResponse

from api.answers.responses import LOOP_BYTES, Finished, Heavy, Large
from api.callers.limits import Places, Streams
from api.callers.work_queue import WorkQueue
from api.errors import Overloaded, TooManyRequests
from domain.errors import NotFound


class Exchange:
    """One request: what was sent for it, by a client that reads only when `reading` is set."""

    def __init__(self, response: ASGIResponse, method: str = "GET") -> None:
        self.sent: list[Any] = []
        self.reading = asyncio.Event()
        self.left = asyncio.Event()
        self._begun = asyncio.Event()
        scope: Any = {"type": "http", "method": method, "headers": []}
        self.task = asyncio.create_task(response(scope, self._receive, self._send))

    async def _receive(self) -> Any:
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        self.sent.append(message)
        self._begun.set()
        if message["type"] == "http.response.body":
            await self.reading.wait()
            if not message["more_body"]:
                self.left.set()

    async def answer(self) -> tuple[dict[bytes, bytes], bytes]:
        """Headers and body, when all of it is read."""
        self.reading.set()
        await asyncio.wait_for(self.task, 10)
        head, *parts = self.sent
        assert head["status"] == 200
        return dict(head["headers"]), b"".join(part["body"] for part in parts)

    async def begins(self) -> None:
        """Until the head is sent."""
        await self._begun.wait()

    async def has_sent(self, count: int) -> None:
        """Until so many parts of the body are sent, the last of which may be unread."""
        while len(self.parts) < count:
            await asyncio.sleep(0)

    @property
    def parts(self) -> list[int]:
        """Sizes of what was sent of the body."""
        return [len(message["body"]) for message in self.sent[1:]]


class Server:
    """Heavy answers of one process."""

    def __init__(self, streams: int = 4, each: int = 10**9, most: int = 10**9) -> None:
        """`each` and `most` are bytes that may be unsent, of one caller and of all."""
        self.queue = WorkQueue(1, Places(10, "large reads"))
        self.streams = Streams(streams, each, most)
        self.made_in: set[int] = set()
        self.made = self.closed = 0

    def ask(self, caller: str, chunks: int, method: str = "GET") -> Exchange:
        heavy = Heavy(self._chunks(chunks), caller, self.queue, self.streams, {"X-A": "b"})
        return Exchange(heavy, method)

    def _chunks(self, count: int) -> Generator[bytes]:
        try:
            for number in range(count):
                self.made_in.add(threading.get_ident())
                self.made += 1
                yield b"%d" % number
            if not count:
                raise NotFound("it is not there")
        finally:
            self.closed += 1


def test_one_chunk_is_sent_whole_and_several_as_a_stream() -> None:
    async def test() -> None:
        server = Server()
        headers, body = await server.ask("ann", 1).answer()
        json_headers = {b"content-type": b"application/json", b"x-a": b"b"}
        assert (headers, body) == ({**json_headers, b"content-length": b"1"}, b"0")
        for count in (2, 3, 9):
            headers, body = await server.ask("ann", count).answer()
            assert (headers, body) == (json_headers, b"012345678"[:count])
        assert threading.get_ident() not in server.made_in

    asyncio.run(test())


def test_head_has_the_headers_alone() -> None:
    async def test() -> None:
        server = Server()
        headers, body = await server.ask("ann", 1, "HEAD").answer()
        assert (headers[b"content-length"], body) == (b"1", b"")
        headers, body = await server.ask("ann", 9, "HEAD").answer()
        assert (headers[b"content-type"], body) == (b"application/json", b"")
        assert (server.made, server.closed) == (3, 2)

    asyncio.run(test())


def test_what_the_first_chunk_raises_is_raised_before_the_head() -> None:
    async def test() -> None:
        exchange = Server().ask("ann", 0)
        with pytest.raises(NotFound):
            await exchange.answer()
        assert exchange.sent == []

    asyncio.run(test())


def test_streams_of_one_caller_are_bounded() -> None:
    async def test() -> None:
        server = Server(streams=2)
        open_ones = [server.ask("ann", 9) for _ in range(2)]
        for exchange in open_ones:
            await exchange.begins()
        refused = server.ask("ann", 9)
        with pytest.raises(TooManyRequests) as raised:
            await refused.answer()
        assert (raised.value.retry_after, refused.sent, server.closed) == (1, [], 1)
        # What is no stream, and other callers, are not held up by those.
        assert (await server.ask("ann", 1).answer())[1] == b"0"
        assert (await server.ask("bo", 9).answer())[1] == b"012345678"

        open_ones[0].left.set()
        await asyncio.wait_for(open_ones[0].task, 10)
        assert (await server.ask("ann", 9).answer())[1] == b"012345678"
        assert (await open_ones[1].answer())[1] == b"012345678"

    asyncio.run(test())


def test_client_that_leaves_stops_the_stream() -> None:
    async def test() -> None:
        server = Server()
        exchange = server.ask("ann", 1_000_000)
        await exchange.begins()
        exchange.left.set()
        await asyncio.wait_for(exchange.task, 10)
        assert (server.made, server.closed) == (2, 1)

    asyncio.run(test())


def test_streams_take_turns() -> None:
    async def test() -> None:
        server = Server()
        long, short = server.ask("ann", 100_000), server.ask("bo", 20)
        long.reading.set()
        assert len((await short.answer())[1]) == 30
        assert not long.task.done()
        long.left.set()
        await asyncio.wait_for(long.task, 10)
        assert server.closed == 2

    asyncio.run(test())


def test_large_body_is_sent_in_pieces_and_others_are_served_between() -> None:
    async def test() -> None:
        body = bytes(range(256)) * (LOOP_BYTES // 64) + b"end"
        exchange = Exchange(Finished(body, headers={"X-A": "b"}))
        exchange.reading.set()
        rounds = 0
        while not exchange.task.done():
            # One round of the event loop: the task does what it can without waiting.
            sent = sum(exchange.parts)
            await asyncio.sleep(0)
            assert sum(exchange.parts) - sent <= LOOP_BYTES
            rounds += 1
        headers, received = await exchange.answer()
        assert received == body
        assert (headers[b"content-length"], headers[b"x-a"]) == (b"%d" % len(body), b"b")
        assert exchange.parts == [LOOP_BYTES] * 4 + [3, 0]
        assert rounds >= 5

    asyncio.run(test())


def test_empty_chunk_ends_a_turn_and_is_not_sent() -> None:
    async def test() -> None:
        server = Server()

        def chunks(count: int, *parts: bytes) -> Generator[bytes]:
            for _ in range(count):
                yield b""
            for part in parts:
                yield part
                yield b""

        def ask(count: int, *parts: bytes) -> Exchange:
            made = chunks(count, *parts)
            return Exchange(Heavy(made, "ann", server.queue, server.streams))

        whole, stream = ask(3, b"a"), ask(0, b"a", b"b", b"c")
        assert (await whole.answer())[1] == b"a"
        assert (await stream.answer())[1] == b"abc"
        assert (whole.parts, stream.parts) == ([1], [1, 1, 1, 0])
        # Who looks long without finding anything holds up nobody.
        long, short = ask(100_000, b"a"), server.ask("bo", 20)
        assert len((await short.answer())[1]) == 30
        assert long.sent == []
        long.task.cancel()

    asyncio.run(test())


def test_large_chunk_of_a_stream_is_sent_in_pieces() -> None:
    def chunks() -> Generator[bytes]:
        yield b""
        yield b"a" * (2 * LOOP_BYTES)
        yield b""
        yield b"b" * (LOOP_BYTES + 1)

    async def test() -> None:
        server = Server()
        exchange = Exchange(Heavy(chunks(), "ann", server.queue, server.streams))
        _, body = await exchange.answer()
        assert body == b"a" * (2 * LOOP_BYTES) + b"b" * (LOOP_BYTES + 1)
        assert exchange.parts == [LOOP_BYTES, LOOP_BYTES, LOOP_BYTES, 1, 0]

    asyncio.run(test())


def test_head_of_a_large_body_has_its_length_alone() -> None:
    async def test() -> None:
        exchange = Exchange(Finished(b"a" * (LOOP_BYTES + 1)), "HEAD")
        headers, body = await exchange.answer()
        assert (headers[b"content-length"], body) == (b"%d" % (LOOP_BYTES + 1), b"")

    asyncio.run(test())


@pytest.mark.parametrize("heavy", [False, True])
def test_large_bodies_being_sent_are_streams_of_their_caller(heavy: bool) -> None:
    async def test() -> None:
        server = Server(streams=1)

        def ask(caller: str, size: int) -> Exchange:
            body = b"a" * size
            if heavy:
                response = Heavy((part for part in [body]), caller, server.queue, server.streams)
                return Exchange(response)
            return Exchange(Large(body, caller, server.streams))

        first = ask("ann", LOOP_BYTES + 1)
        await first.begins()
        refused = ask("ann", LOOP_BYTES + 1)
        with pytest.raises(TooManyRequests):
            await refused.answer()
        assert refused.sent == []
        assert len((await ask("ann", LOOP_BYTES).answer())[1]) == LOOP_BYTES
        assert len((await ask("bo", LOOP_BYTES + 1).answer())[1]) == LOOP_BYTES + 1
        assert len((await first.answer())[1]) == LOOP_BYTES + 1
        assert len((await ask("ann", LOOP_BYTES + 1).answer())[1]) == LOOP_BYTES + 1

    asyncio.run(test())


def sized(server: Server, caller: str, *sizes: int) -> Exchange:
    """A streamed answer of chunks of these sizes."""
    chunks = (b"a" * size for size in sizes)
    return Exchange(Heavy(chunks, caller, server.queue, server.streams))


def test_answers_that_are_not_read_have_so_many_bytes_over_all_callers() -> None:
    async def test() -> None:
        server = Server(each=20, most=50)
        unread = [sized(server, caller, 10, 10, 10) for caller in ("ann", "bo")]
        for exchange in unread:
            await exchange.begins()
        # A caller has its own share, whatever others leave of the whole.
        with pytest.raises(TooManyRequests) as over:
            await sized(server, "ann", 1, 1).answer()
        assert str(over.value) == "20 bytes of your answers are unread: read some"
        with pytest.raises(Overloaded) as full:
            await sized(server, "cy", 6, 6).answer()
        assert full.value.retry_after == 1
        assert len((await sized(server, "cy", 5, 5).answer())[1]) == 10

        for exchange in unread:
            assert len((await exchange.answer())[1]) == 30
        assert len((await sized(server, "cy", 25, 25).answer())[1]) == 50

    asyncio.run(test())


@pytest.mark.parametrize("caller", ["ann", "bo"])
def test_chunk_is_made_only_when_there_is_room(caller: str) -> None:
    async def test() -> None:
        # What grows takes all that a caller may have, or all that there is.
        server = Server(each=20, most=1_000 if caller == "ann" else 30)
        waiting, growing = server.ask("ann", 9), sized(server, caller, 1, 1, 40, 1)
        await waiting.begins()
        await growing.begins()
        growing.reading.set()
        await growing.has_sent(2)
        growing.reading.clear()
        await growing.has_sent(3)

        waiting.reading.set()
        await waiting.has_sent(2)
        for _ in range(100):
            await asyncio.sleep(0)
        assert (server.made, waiting.parts) == (2, [1, 1])
        with pytest.raises(TooManyRequests if caller == "ann" else Overloaded):
            await sized(server, "ann", 1, 1).answer()

        growing.left.set()
        await asyncio.wait_for(growing.task, 10)
        assert (await waiting.answer())[1] == b"012345678"

    asyncio.run(test())


def test_body_larger_than_a_callers_share_is_sent_alone() -> None:
    async def test() -> None:
        server = Server(each=LOOP_BYTES, most=10 * LOOP_BYTES)
        first = Exchange(Large(b"a" * 3 * LOOP_BYTES, "ann", server.streams))
        await first.begins()
        with pytest.raises(TooManyRequests):
            await Exchange(Large(b"a" * (LOOP_BYTES + 1), "ann", server.streams)).answer()
        assert len((await first.answer())[1]) == 3 * LOOP_BYTES

    asyncio.run(test())
