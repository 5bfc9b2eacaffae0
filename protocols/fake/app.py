"""What the test server does with a request: conforming answer, faults, limits, counters.

aiohttp's server, because faults need the raw connection (reset, cut, trickle) and because it
answers about 3,000 questions of 255 options a second on one core, more than any client here asks.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Sequence
from time import monotonic
from typing import Any

from aiohttp import web

from protocols.fake.answers import answers_for
from protocols.fake.asked import Problem, RefusedError, Shape
from protocols.fake.counters import Counters
from protocols.fake.delivery import ABORTED, deliver
from protocols.fake.exchange import Exchange
from protocols.fake.plan import FaultPlan
from protocols.fake.routes import ROUTES, Pick, shape_at
from protocols.fake.throttle import Throttle

__all__ = ["State", "make_app"]

MODEL = "fake-1.0"
#: A request of 255 options with long texts is about 1 MB; above this the answer is 413.
MAX_REQUEST = 32 * 1024 * 1024
#: Where decision models are asked in vain: for them the chat endpoint answers 400 (section 4).
NO_CHAT = "/api/v1/chat/completions"


class State:
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


def make_app(state: State) -> web.Application:
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


def _handler(state: State, pick: Pick) -> Any:
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
    state: State, shape: Shape, request: web.Request, raw: bytes, body: Any, readable: bool
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


def _throttle(state: State, exchange: Exchange) -> bool:
    """429 above the limits, else True; a reply that failed anyway is not counted (False)."""
    if exchange.raw is not None or exchange.delivery in ABORTED:
        return False
    wait = state.throttle.refuses(_tokens(exchange))
    if wait is not None:
        hints = {"retry_after_ms": str(math.ceil(wait * 1000)), "Retry_After": str(math.ceil(wait))}
        exchange.fail(429, "rate", "Too many requests", **hints)
    return wait is None
