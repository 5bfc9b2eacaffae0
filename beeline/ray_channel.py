"""A short way from a search to the process that asks its model, where both are on one node.

A call of Ray's costs each of both processes a millisecond of CPU and 4 to 20 ms of waiting
(benchmarks/ray_engine.py), a message through a socket of the same machine a tenth of that. A
search asks hundreds of questions one after the other, so what it takes is decided here. On another
node, and where there are no such sockets, questions go through Ray.

The socket has a name that the kernel keeps (Linux's abstract ones), drawn at random: no file is
left behind, and nothing outside the machine reaches it. Both sides see from the kernel that the
other belongs to the same user before they read anything, since what they read is unpickled.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import secrets
import socket
import struct
import traceback
from collections.abc import Awaitable, Callable
from typing import Any, cast

from beeline.question import Answer, Question
from beeline.ray_messages import Failure

__all__ = ["Bug", "Channel", "ChannelLost", "Door"]

_SIZE = struct.Struct("!I")
_PEER = struct.Struct("3i")
"""Process, user and group, as Linux gives them."""


class ChannelLost(Exception):
    """The other process is gone, or has closed its door."""


class Bug(Exception):
    """An error in the other process that is none of beeline's own; its text is the traceback."""


class _Frames(asyncio.Protocol):
    """Objects through a stream: each is pickled, behind its length."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        stream = cast(asyncio.Transport, transport)
        if _user_of(stream.get_extra_info("socket")) == os.getuid():
            self._transport = stream
        else:
            stream.abort()

    def data_received(self, data: bytes) -> None:
        if self._transport is None:
            return
        held = self._held
        held += data
        start = 0
        while len(held) - start >= _SIZE.size:
            first = start + _SIZE.size
            end = first + _SIZE.unpack_from(held, start)[0]
            if len(held) < end:
                break
            start = end
            self.received(pickle.loads(bytes(held[first:end])))
        del held[:start]

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None

    def send(self, message: Any) -> None:
        """Harmless where the other side is gone."""
        if self._transport is not None:
            body = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
            self._transport.write(_SIZE.pack(len(body)) + body)

    def close(self) -> None:
        """Hang up."""
        if self._transport is not None:
            self._transport.close()

    def received(self, message: Any) -> None:
        raise NotImplementedError


class Channel(_Frames):
    """The side that asks; of one event loop."""

    def __init__(self) -> None:
        super().__init__()
        self._count = 0
        self._waiting: dict[int, asyncio.Future[Answer | Failure]] = {}

    @classmethod
    async def to(cls, name: str) -> Channel | None:
        """A channel to the door of this name; None where nobody listens who may be trusted."""
        loop = asyncio.get_running_loop()
        made = socket.socket(socket.AF_UNIX)
        made.setblocking(False)
        try:
            await loop.sock_connect(made, _path(name))
            _, channel = await loop.create_unix_connection(cls, sock=made)
        except OSError:
            made.close()
            return None
        return channel if channel._transport is not None else None

    @property
    def lost(self) -> bool:
        """Nobody is at the other end any more."""
        return self._transport is None

    async def ask(self, question: Question, run: int | None = None) -> Answer | Failure:
        """What the other process answers, for the condition ``run``. Raises ChannelLost and Bug."""
        if self._transport is None:
            raise ChannelLost
        number = self._count = self._count + 1
        waiting: asyncio.Future[Answer | Failure] = asyncio.get_running_loop().create_future()
        self._waiting[number] = waiting
        try:
            self.send((number, question, run))
            return await waiting
        finally:
            del self._waiting[number]

    def received(self, message: Any) -> None:
        """One answer."""
        number, found = message
        waiting = self._waiting.get(number)
        if waiting is None or waiting.done():
            return
        if isinstance(found, Bug):
            waiting.set_exception(found)
        else:
            waiting.set_result(found)

    def connection_lost(self, error: Exception | None) -> None:
        """Nobody waits in vain."""
        super().connection_lost(error)
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(ChannelLost())


class Door:
    """The side that answers. A question is answered to its end also where whoever asked is gone."""

    def __init__(self, answer: Callable[[Question, int | None], Awaitable[Answer | Failure]]) -> None:
        self._answer = answer
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.peers: set[_Asked] = set()
        """Who is connected."""
        self.name: str | None = None
        """None where this machine has no such sockets."""

    async def open(self) -> None:
        """Listen."""
        if not hasattr(socket, "SO_PEERCRED"):
            return
        name = f"beeline-{secrets.token_hex(16)}"
        made = socket.socket(socket.AF_UNIX)
        made.bind(_path(name))
        loop = asyncio.get_running_loop()
        self._server = await loop.create_unix_server(lambda: _Asked(self), sock=made)
        self.name = name

    def close(self) -> None:
        """Listen no longer, and hang up."""
        if self._server is not None:
            self._server.close()
        for peer in self.peers:
            peer.close()

    def begin(self, asked: _Asked, number: int, question: Question, run: int | None) -> None:
        """See that a question gets its answer."""
        task = asyncio.get_running_loop().create_task(self._reply(asked, number, question, run))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _reply(self, asked: _Asked, number: int, question: Question, run: int | None) -> None:
        try:
            asked.send((number, await self._answer(question, run)))
        except Exception:  # also an answer that cannot be pickled: nobody may wait for ever
            asked.send((number, Bug(traceback.format_exc())))


class _Asked(_Frames):
    def __init__(self, door: Door) -> None:
        super().__init__()
        self._door = door

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._door.peers.add(self)

    def received(self, message: Any) -> None:
        self._door.begin(self, *message)

    def connection_lost(self, error: Exception | None) -> None:
        super().connection_lost(error)
        self._door.peers.discard(self)


def _path(name: str) -> str:
    """The address of an abstract socket. (uvloop would cut it short, so sockets are made here.)"""
    return f"\0{name}"


def _user_of(peer: Any) -> int:
    """The user whose process the other side is."""
    found: int = _PEER.unpack(peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))[1]
    return found
