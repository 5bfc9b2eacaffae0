"""The ASGI application: paths, keys, bodies in, replies out.

Order of checks, as the public servers have it: path, method, key, size, encoding, schema, model,
queue. A bad request is never a 5xx; a function that raises or returns nonsense is a 500 whose body
says nothing of its inside, and a traceback in the log under the request's id.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from beeline.errors import BeelineError, nearest
from protocols.secrets import Secret
from protocols.serve.answers import Senseless, reply_for
from protocols.serve.batching import Caller, FunctionFailed
from protocols.serve.bodies import check, decode, parse, too_large
from protocols.serve.functions import Function
from protocols.serve.refusals import Refused
from protocols.serve.settings import ServeSettings

__all__ = ["PATHS", "make_app"]

#: Where questions are taken: TypeSafe; Perplexity and Inception; OpenRouter.
PATHS = ("/v1/systemone", "/v1/decisions", "/api/v1/systemone", "/api/alpha/decisions")
_KINDS = {404: "not_found_error", 405: "method_not_allowed_error"}
#: How much of a body that is too large is still read, so that its sender gets to see the 413.
_DRAINED = 4

log = logging.getLogger("protocols.serve")


def make_app(settings: ServeSettings, function: Function, key: Secret | None = None) -> Starlette:
    """The application of one server; its lifespan starts and stops the function's thread."""
    service = _Service(settings, function, key)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await service.caller.start()
        yield
        await service.caller.stop()

    routes = [Route(path, service.systemone, methods=["POST"]) for path in PATHS]
    routes += [
        Route("/v1/models", service.models, methods=["GET"]),
        Route("/health", service.health, methods=["GET"]),
    ]
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers={HTTPException: _http_error})
    app.router.redirect_slashes = False
    return app


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    kind = _KINDS.get(error.status_code, "api_usage_error")
    message = f"{request.method} {request.url.path}: {error.detail}"
    return _json({"detail": {"error_type": kind, "message": message}}, error.status_code, error.headers)


def _json(content: Any, status: int = 200, headers: Any = None) -> Response:
    try:
        body = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:  # a lone surrogate in a name: it came as an escape and goes as one
        body = json.dumps(content, allow_nan=False, separators=(",", ":")).encode()
    return Response(body, status, headers, media_type="application/json")


class _Service:
    def __init__(self, settings: ServeSettings, function: Function, key: Secret | None) -> None:
        self.settings = settings
        self.caller = Caller(function, batch=settings.batch, wait_s=settings.wait_s, limit=settings.queue)
        self._about = function.about or f"The Python function {settings.target}"
        self._since = datetime.now(UTC).date().isoformat()
        self._key = None if key is None else key.reveal().encode()

    async def systemone(self, request: Request) -> Response:
        number = uuid.uuid4().hex
        try:
            response = await self._answer(request)
        except Refused as refused:
            response = _json({"detail": refused.detail}, refused.status, refused.headers)
        except ClientDisconnect:
            response = Response(status_code=400)  # nobody reads it
        except Exception as error:
            _report(number, error)
            message = f"The model failed on this request (id {number}); the server's log says why"
            response = _json({"detail": {"error_type": "internal_error", "message": message}}, 500)
        response.headers["x-typesafe-request-id"] = number
        return response

    async def models(self, request: Request) -> Response:
        try:
            self._check_key(request)
        except Refused as refused:
            return _json({"detail": refused.detail}, refused.status)
        listed = {"name": self.settings.name, "description": self._about, "release_date": self._since}
        return _json({"models": [listed]})

    async def health(self, request: Request) -> Response:
        """For load balancers: no key, and no word about the model's work."""
        return _json({"status": "ok", "held": self.caller.held, "queue": self.settings.queue})

    async def _answer(self, request: Request) -> Response:
        self._check_key(request)
        raw = await self._read(request)
        plain = decode(raw, request.headers.get("content-encoding", ""), self.settings.max_body)
        body = check(parse(plain), self.settings.max_options)
        if body["model"] not in self.settings.names:
            known = nearest(body["model"], self.settings.names)
            raise Refused.because(
                400, "api_usage_error", f"There is no model {body['model']!r:.200}; {known}"
            )
        try:
            returned = await self.caller.ask(body, request.is_disconnected)
        except asyncio.CancelledError:
            if await request.is_disconnected():
                raise ClientDisconnect from None
            raise
        return _json(reply_for(body, returned, self.settings.name, self.settings.digits))

    def _check_key(self, request: Request) -> None:
        if self._key is None:
            return
        scheme, _, sent = request.headers.get("authorization", "").partition(" ")
        if not sent:
            raise Refused.because(
                403, "authentication_error", "This server wants a key: Authorization: Bearer KEY"
            )
        right = hmac.compare_digest(sent.strip().encode("latin-1"), self._key)
        if scheme.lower() != "bearer" or not right:
            raise Refused.because(401, "authentication_error", "Invalid key")

    async def _read(self, request: Request) -> bytes:
        most = self.settings.max_body
        raw = bytearray()
        size = 0
        try:
            async with asyncio.timeout(self.settings.read_s):
                async for piece in request.stream():
                    size += len(piece)
                    if size <= most:
                        raw += piece
                    elif size > _DRAINED * most:
                        break
        except TimeoutError:
            late = f"The body did not arrive within {self.settings.read_s:g} s"
            raise Refused.because(408, "api_usage_error", late, Connection="close") from None
        if size > most:
            raise too_large(most)
        return bytes(raw)


def _report(number: str, error: Exception) -> None:
    if isinstance(error, Senseless):
        log.error("request %s: the function returned nonsense: %s", number, error)
    elif isinstance(error, FunctionFailed) and isinstance(error.__cause__, BeelineError):
        log.error("request %s: %s", number, error.__cause__)  # its sentence says it all
    elif isinstance(error, FunctionFailed):
        log.error("request %s: the function raised", number, exc_info=error.__cause__)
    else:
        log.error("request %s: failed", number, exc_info=error)
