"""The test server: HTTP in, conforming answer, faults, HTTP out.

aiohttp's server, because faults need the raw connection (reset, cut, trickle) and because it
answers about 3,000 questions of 255 options a second on one core, more than any client here asks.
"""

from __future__ import annotations

import asyncio
import json
import math
import threading
from collections import Counter
from collections.abc import Sequence
from time import monotonic
from types import TracebackType
from typing import Any

from aiohttp import web

from beeline.errors import SettingError
from protocols.fake.answers import answers_for
from protocols.fake.asked import Problem, RefusedError, Shape
from protocols.fake.counters import Counters
from protocols.fake.delivery import ABORTED, deliver
from protocols.fake.exchange import Exchange
from protocols.fake.plan import FaultPlan
from protocols.fake.routes import ROUTES, Pick, shape_at
from protocols.fake.throttle import Bucket, Throttle

__all__ = ["FakeServer"]

MODEL = "fake-1.0"
#: A request of 255 options with long texts is about 1 MB; above this the answer is 413.
MAX_REQUEST = 32 * 1024 * 1024
#: Where decision models are asked in vain: for them the chat endpoint answers 400 (section 4).
NO_CHAT = "/api/v1/chat/completions"


class _State:
    """What one server knows: its faults and what it was asked."""

    def __init__(
        self, faults: Sequence[str], latency_s: float, key: str | None, seed: int, throttle: Throttle
    ) -> None:
        self.plans = FaultPlan.parse(faults)
        self.latency_s = latency_s
        self.key = key
        self.seed = seed
        self.throttle = throttle
        self.counters = Counters()
        self.seen: dict[bytes, int] = {}
        self.start = monotonic()


def _make_app(state: _State) -> web.Application:
    """The application; one a server."""

    async def models(request: web.Request) -> web.Response:
        listed = {"name": MODEL, "description": "answers by checksum", "release_date": "2026-11-30"}
        return web.json_response({"models": [listed]})

    async def no_chat(request: web.Request) -> web.Response:
        said = "This is a decision model; it has no chat endpoint. Use /api/alpha/decisions."
        return web.json_response({"error": {"code": 400, "message": said}}, status=400)

    app = web.Application(client_max_size=MAX_REQUEST, middlewares=[_errors_as_json])
    for path, pick in ROUTES.items():
        app.router.add_post(path, _handler(state, pick))
    app.router.add_get("/v1/models", models)
    app.router.add_post(NO_CHAT, no_chat)
    return app


@web.middleware
async def _errors_as_json(request: web.Request, handler: Any) -> web.StreamResponse:
    """Other paths, methods and sizes, in the words of the path's shape (other paths: Jev's)."""
    try:
        response: web.StreamResponse = await handler(request)
    except web.HTTPException as error:
        kind = {404: "not_found", 405: "method_not_allowed", 413: "request_too_large"}
        problem = Problem(error.status, kind.get(error.status, "api_usage_error"), error.reason)
        shape = shape_at(request.path)
        headers = {"Allow": error.headers["Allow"]} if "Allow" in error.headers else None
        return web.json_response(shape.error(problem), status=error.status, headers=headers)
    return response


def _handler(state: _State, pick: Pick) -> Any:
    async def handle(request: web.Request) -> web.StreamResponse:
        counters = state.counters
        number = counters.begin(request.path)
        status = 0
        try:
            raw = await request.read()
            counters.last_body, counters.last_headers = raw, dict(request.headers)
            body, readable = _parsed(raw)
            shape = pick(body)
            counters.shapes[shape.name] += 1
            headers = shape.headers(number)
            try:
                exchange = _conforming(state, shape, request, raw, body, readable)
            except RefusedError as refused:
                status = refused.problem.status
                return web.json_response(shape.error(refused.problem), status=status, headers=headers)
            exchange.number, exchange.in_flight = number, counters.in_flight
            exchange.headers = headers
            for plan in state.plans:
                plan.strike(exchange)
            admitted = _throttle(state, exchange)
            try:
                if state.latency_s:
                    await asyncio.sleep(state.latency_s)
                response = await deliver(request, exchange)
            finally:
                if admitted:
                    state.throttle.release()
            status = 0 if exchange.delivery in ABORTED else exchange.status
            if status == 200:
                counters.tokens += _tokens(exchange)
            return response
        except web.HTTPException as error:
            status = error.status
            raise
        finally:
            counters.end(status)

    return handle


def _parsed(raw: bytes) -> tuple[Any, bool]:
    """The body, and whether it is JSON at all."""
    try:
        return json.loads(raw), True
    except (ValueError, RecursionError):
        return None, False


def _tokens(exchange: Exchange) -> int:
    usage = exchange.reply.get("usage") or {}
    return int(usage.get("input_tokens", 0))


def _conforming(
    state: _State, shape: Shape, request: web.Request, raw: bytes, body: Any, readable: bool
) -> Exchange:
    """The reply to a good request; raises RefusedError for any other."""
    key = shape.key(request.headers)
    if state.key is not None and key != state.key:
        status, said = (
            (shape.wrong_key_status, "Invalid API key") if key else (shape.no_key_status, "Missing API key")
        )
        raise RefusedError(Problem(status, "key", said))
    if request.headers.get("Content-Encoding", "identity") != "identity":
        raise RefusedError(Problem(415, "api_usage_error", "Content-Encoding is not supported"))
    if not readable:
        raise RefusedError(Problem(shape.json_status, "schema", "JSON decode error", code="json"))
    asked = shape.read(body, request.headers, request.match_info)
    reply = {
        "model": body.get("model", shape.default_model),
        "answers": answers_for(asked),
        "usage": {"input_tokens": len(raw) // 4 + 1, "output_tokens": len(asked)},
    }
    return Exchange(
        shape,
        body,
        raw,
        asked,
        key,
        reply,
        seen=state.seen,
        seed=state.seed,
        elapsed_s=monotonic() - state.start,
        envelope=shape.name == "cloudflare",
    )


def _throttle(state: _State, exchange: Exchange) -> bool:
    """429 above the limits, else True; a reply that failed anyway is not counted (False)."""
    if exchange.raw is not None or exchange.delivery in ABORTED:
        return False
    wait = state.throttle.refuses(_tokens(exchange))
    if wait is not None:
        hints = {"retry_after_ms": str(math.ceil(wait * 1000)), "Retry_After": str(math.ceil(wait))}
        exchange.fail(429, "rate", "Too many requests", **hints)
    return wait is None


class FakeServer:
    """The server in a thread of this process, for tests; a context manager.

    ``faults`` as ``--fault`` takes them. ``latency_ms`` waits before each reply, ``key`` refuses
    requests without this key, ``seed`` moves the draws of faults, ``rpm``, ``tpm`` and
    ``concurrency_limit`` answer 429 with a hint above so many requests or tokens a minute or
    requests in flight. Raises SettingError for a fault or a limit that is none.

    ``base_url`` is what ``model.base_url`` wants; ``requests`` counts the questions that came, and
    ``counters`` everything else.
    """

    def __init__(
        self,
        *faults: str,
        latency_ms: float = 0.0,
        key: str | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        seed: int = 0,
        rpm: float | None = None,
        tpm: float | None = None,
        concurrency_limit: int | None = None,
    ) -> None:
        for name, limit in (("rpm", rpm), ("tpm", tpm), ("concurrency-limit", concurrency_limit)):
            if limit is not None and not (limit > 0 and math.isfinite(limit)):
                raise SettingError(f"--{name} {limit}: a limit must be a number above 0")
        throttle = Throttle(
            Bucket(rpm, monotonic) if rpm else None,
            Bucket(tpm, monotonic) if tpm else None,
            concurrency_limit,
        )
        self._state = _State(faults, latency_ms / 1000.0, key, seed, throttle)
        self._host, self.port = host, port
        self._ready = threading.Event()
        self.error: OSError | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, name="fake-server", daemon=True)

    @property
    def origin(self) -> str:
        """Address without a path."""
        return f"http://{self._host}:{self.port}"

    @property
    def base_url(self) -> str:
        """Address up to and with ``/v1``."""
        return f"{self.origin}/v1"

    @property
    def counters(self) -> Counters:
        """What was counted so far."""
        return self._state.counters

    @property
    def requests(self) -> int:
        """Questions asked so far, refused ones included."""
        return self.counters.requests

    @property
    def statuses(self) -> Counter[int]:
        """Replies by status; 0: reset, cut or never answered."""
        return self.counters.statuses

    @property
    def most_in_flight(self) -> int:
        """The highest number of requests at one time."""
        return self.counters.most_in_flight

    @property
    def tokens(self) -> int:
        """Input tokens of the replies with status 200."""
        return self.counters.tokens

    @property
    def last_body(self) -> bytes:
        """The body of the last request."""
        return self.counters.last_body

    @property
    def last_headers(self) -> dict[str, str]:
        """The headers of the last request."""
        return self.counters.last_headers

    @property
    def last_path(self) -> str:
        """The path of the last request."""
        return self.counters.last_path

    def set_faults(self, *faults: str) -> None:
        """Other faults from the next request on, each counting from its own beginning."""
        self._state.plans = FaultPlan.parse(faults)

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
            _make_app(self._state), access_log=None, shutdown_timeout=0.1, auto_decompress=False
        )
        try:
            await runner.setup()
            site = web.TCPSite(runner, self._host, self.port, backlog=1024)
            await site.start()
            self.port = runner.addresses[0][1]
            self._state.start = monotonic()
            self._ready.set()
            await self._stop.wait()
        except OSError as error:
            self.error = error
            self._ready.set()
        finally:
            await runner.cleanup()
