"""How a reply leaves: whole, in drops, cut, never, or as a reset."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import NoReturn

from aiohttp import web

from protocols.fake.exchange import Exchange

__all__ = ["ABORTED", "deliver"]

#: Deliveries that end without a whole reply, whatever the status.
ABORTED = frozenset({"reset", "cut", "silent"})


async def deliver(request: web.Request, exchange: Exchange) -> web.StreamResponse:
    """Send the reply; does not return when the connection is to break."""
    if exchange.delivery == "reset":
        _abort(request)
    if exchange.delivery == "silent":
        await asyncio.sleep(24 * 3600)
    body = exchange.body()
    if exchange.delivery == "whole":
        return web.Response(
            body=body, status=exchange.status, headers=exchange.headers, content_type=exchange.content_type
        )
    response = web.StreamResponse(status=exchange.status, headers=exchange.headers)
    response.content_type = exchange.content_type
    if exchange.delivery == "endless":
        await response.prepare(request)
        for _ in range(1024):
            await response.write(b" " * 1024 * 1024)
        return response
    response.content_length = len(body)
    await response.prepare(request)
    if exchange.delivery == "cut":
        await response.write(body[: len(body) // 2])
        _abort(request, gently=True)
    piece = len(body) // 10 + 1
    for start in range(0, len(body), piece):
        await asyncio.sleep(exchange.slow_s / 10)
        await response.write(body[start : start + piece])
    return response


def _abort(request: web.Request, gently: bool = False) -> NoReturn:
    """End the connection without a (whole) reply: with a reset, or gently after what was sent."""
    transport = request.transport
    if transport is not None:
        if gently:
            transport.close()
        else:
            raw: socket.socket = transport.get_extra_info("socket")
            # Linger 0: closing sends a reset instead of an orderly end.
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            transport.abort()
    raise asyncio.CancelledError
