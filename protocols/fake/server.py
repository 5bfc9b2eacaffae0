"""The test server: HTTP in, conforming answer, faults, HTTP out.

aiohttp's server, because faults need the raw connection (reset, cut, trickle) and because it
answers about 3,000 questions of 255 options a second on one core, more than any client here asks.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from aiohttp import web

from protocols.fake.answers import RefusedError, answers_for, check_request
from protocols.fake.faults import Exchange, FaultPlan

__all__ = ["FakeServer", "make_app"]

PATHS = ("/v1/systemone", "/v1/decisions")
MODEL = "fake-1.0"
#: A request of 255 options with long texts is about 1 MB; above this the answer is 413.
MAX_REQUEST = 32 * 1024 * 1024


class _State:
    """What one server knows: its faults and what it was asked."""

    def __init__(self, faults: Sequence[str], latency_s: float, key: str | None) -> None:
        self.plans = FaultPlan.parse(faults)
        self.latency_s = latency_s
        self.key = key
        self.requests = 0
        self.last_body = b""
        self.last_headers: dict[str, str] = {}


def make_app(state: _State) -> web.Application:
    """The application; one a server."""

    async def systemone(request: web.Request) -> web.StreamResponse:
        state.requests += 1
        number = state.requests
        headers = {"x-typesafe-request-id": f"fake-{number}"}
        try:
            exchange = await _conforming(state, request)
        except RefusedError as refused:
            return web.json_response(refused.body, status=refused.status, headers=headers)
        exchange.headers = headers
        for plan in state.plans:
            if plan.strikes():
                plan.fault(exchange)
        if state.latency_s:
            await asyncio.sleep(state.latency_s)
        return await _deliver(request, exchange)

    async def models(request: web.Request) -> web.Response:
        listed = {"name": MODEL, "description": "answers by checksum", "release_date": "2026-11-30"}
        return web.json_response({"models": [listed]})

    app = web.Application(client_max_size=MAX_REQUEST, middlewares=[_errors_as_json])
    for path in PATHS:
        app.router.add_post(path, systemone)
    app.router.add_get("/v1/models", models)
    return app


@web.middleware
async def _errors_as_json(request: web.Request, handler: Any) -> web.StreamResponse:
    try:
        response: web.StreamResponse = await handler(request)
    except web.HTTPException as error:
        kind = {404: "not_found", 405: "method_not_allowed", 413: "request_too_large"}
        detail = {"error_type": kind.get(error.status, "api_usage_error"), "message": error.reason}
        headers = {"Allow": error.headers["Allow"]} if "Allow" in error.headers else None
        return web.json_response({"detail": detail}, status=error.status, headers=headers)
    return response


async def _conforming(state: _State, request: web.Request) -> Exchange:
    """The reply to a good request; raises RefusedError for any other."""
    authorization = request.headers.get("Authorization", "")
    if state.key is not None and authorization != f"Bearer {state.key}":
        status, said = (401, "Invalid API key") if authorization else (403, "Missing API key")
        raise RefusedError.usage(status, "authentication_error", said)
    if request.headers.get("Content-Encoding", "identity") != "identity":
        raise RefusedError.usage(415, "api_usage_error", "Content-Encoding is not supported")
    raw = await request.read()
    state.last_body, state.last_headers = raw, dict(request.headers)
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        raise RefusedError.schema([], "JSON decode error", "json_invalid") from None
    check_request(body)
    questions = body["questions"]
    reply = {
        "model": body["model"],
        "answers": answers_for(questions),
        "usage": {"input_tokens": len(raw) // 4 + 1, "output_tokens": len(questions)},
    }
    return Exchange(body, authorization, reply)


async def _deliver(request: web.Request, exchange: Exchange) -> web.StreamResponse:
    if exchange.delivery == "reset":
        _abort(request)
    if exchange.delivery == "silent":
        await asyncio.sleep(24 * 3600)
    body = exchange.raw
    if body is None:
        body = json.dumps(exchange.reply, ensure_ascii=False).encode("utf-8", "surrogatepass")
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
        await asyncio.sleep(0.2)
        await response.write(body[start : start + piece])
    return response


def _abort(request: web.Request, gently: bool = False) -> None:
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


class FakeServer:
    """The server in a thread of this process, for tests; a context manager.

    ``base_url`` is what ``model.base_url`` wants; ``requests`` counts the questions that came.
    """

    def __init__(
        self,
        *faults: str,
        latency_ms: float = 0.0,
        key: str | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        self._state = _State(faults, latency_ms / 1000.0, key)
        self._host, self.port = host, port
        self._ready = threading.Event()
        self.error: OSError | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, name="fake-server", daemon=True)

    @property
    def base_url(self) -> str:
        """Address up to and with ``/v1``."""
        return f"http://{self._host}:{self.port}/v1"

    @property
    def requests(self) -> int:
        """Questions asked so far, refused ones included."""
        return self._state.requests

    @property
    def last_body(self) -> bytes:
        """The body of the last request."""
        return self._state.last_body

    @property
    def last_headers(self) -> dict[str, str]:
        """The headers of the last request."""
        return self._state.last_headers

    def __enter__(self) -> FakeServer:
        self._thread.start()
        self.wait_ready()
        if self.error is not None:
            raise self.error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        self._thread.join()

    def wait_ready(self) -> None:
        """Wait until the server listens, or cannot (then ``error`` says why)."""
        self._ready.wait()

    def stop(self) -> None:
        """End serving; from any thread."""
        if self._loop is not None and self._stop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)

    def _run(self) -> None:
        asyncio.run(self.serve())

    async def serve(self) -> None:
        """Serve until stopped or cancelled; ``port`` is the real one once ready."""
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        # Not decompressed: aiohttp would answer 400 where the protocol has 415.
        runner = web.AppRunner(
            make_app(self._state), access_log=None, shutdown_timeout=0.1, auto_decompress=False
        )
        try:
            await runner.setup()
            site = web.TCPSite(runner, self._host, self.port, backlog=1024)
            await site.start()
            self.port = runner.addresses[0][1]
            self._ready.set()
            await self._stop.wait()
        except OSError as error:
            self.error = error
            self._ready.set()
        finally:
            await runner.cleanup()
