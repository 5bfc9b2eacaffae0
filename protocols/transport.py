"""One try of one request, over aiohttp.

Chosen by measurement (benchmarks/model_side.py; 255 options, 32 in flight, local server with no
latency, 2 cores): httpx takes 1.8 ms of CPU and makes 560 requests a second, aiohttp 0.25 ms and
3,200. The goals are 0.5 ms and 1,200, and a search spends its time exactly here.

A transport is a small object with ``open``, ``send`` and ``close``, so that tests and benchmarks
bring their own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from beeline.errors import SettingError

if TYPE_CHECKING:
    import aiohttp

__all__ = ["AiohttpTransport", "RawReply", "Transport", "TransportFault"]


@dataclass(frozen=True, slots=True)
class RawReply:
    """Status, headers (looked up without regard to case) and the whole body."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    cut: bool = False
    """The body went above the bound: reading stopped and ``body`` is empty."""


class TransportFault(Exception):
    """A try that brought no reply. ``kind``: ``connect`` (nobody there), ``broken`` (the
    connection failed later) or ``certificate`` (it is not who it should be)."""

    def __init__(self, kind: Literal["connect", "broken", "certificate"], reason: str) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason


class Transport(Protocol):
    """How a request reaches the host."""

    async def open(self) -> None:
        """Get ready in the running event loop."""

    async def close(self) -> None:
        """Give everything back; harmless when not open."""

    async def send(self, body: bytes) -> RawReply:
        """Post ``body``. Raises TransportFault; a time limit is the caller's (cancellation)."""


class AiohttpTransport:
    """One pooled HTTP/1.1 client for one URL; connections are kept alive and reused."""

    def __init__(self, url: str, headers: Mapping[str, str], max_body: int) -> None:
        self.url = url
        self.max_body = max_body
        # Replies are small, so compressing them would cost both sides more than it saves.
        self._headers = {"Accept-Encoding": "identity", **headers}
        self._session: aiohttp.ClientSession | None = None
        self._arguments: dict[str, Any] = {}

    async def open(self) -> None:
        """Make the connection pool; nothing is sent."""
        # 0.3 s of import, spent only by runs that talk to a server.
        import aiohttp
        from yarl import URL

        self._aiohttp = aiohttp
        self._url = URL(self.url)
        # The environment is read once here; aiohttp's trust_env reads it for every request.
        self._arguments = {
            "proxy": _proxy(self._url.scheme, self._url.host or ""),
            # A redirect means that the address in the config is wrong; following it would resend
            # the key to wherever the reply points.
            "allow_redirects": False,
        }
        self._session = aiohttp.ClientSession(
            # The number in flight is bounded above this layer, so that waiting for a connection
            # never counts as latency.
            connector=aiohttp.TCPConnector(limit=0),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
            headers=self._headers,
        )

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            session, self._session = self._session, None
            await session.close()

    async def send(self, body: bytes) -> RawReply:
        """Post once; the body is read up to ``max_body`` bytes."""
        if self._session is None:
            raise RuntimeError("the transport is not open")
        aiohttp = self._aiohttp
        try:
            async with self._session.post(self._url, data=body, **self._arguments) as reply:
                length = reply.content_length
                if length is not None and length <= self.max_body and "Content-Encoding" not in reply.headers:
                    return RawReply(reply.status, reply.headers, await reply.read())
                chunks: list[bytes] = []
                room = self.max_body
                async for chunk in reply.content.iter_any():
                    room -= len(chunk)
                    if room < 0:
                        reply.close()
                        return RawReply(reply.status, reply.headers, b"", cut=True)
                    chunks.append(chunk)
                return RawReply(reply.status, reply.headers, b"".join(chunks))
        except aiohttp.ClientConnectorCertificateError as error:
            raise TransportFault("certificate", f"its certificate is not trusted: {error}") from None
        except aiohttp.ClientConnectorError as error:
            raise TransportFault("connect", _words(error.os_error)) from None
        except aiohttp.ServerDisconnectedError:
            raise TransportFault("broken", "the server closed the connection without an answer") from None
        except aiohttp.ClientPayloadError:
            raise TransportFault("broken", "the connection ended in the middle of the answer") from None
        except aiohttp.ClientResponseError as error:
            raise TransportFault("broken", f"what came back is not HTTP: {error.message}") from None
        except (aiohttp.ClientError, OSError, asyncio.IncompleteReadError) as error:
            raise TransportFault("broken", _words(error)) from None


def _proxy(scheme: str, host: str) -> str | None:
    """The proxy that the environment names for this host; loopback never goes through one. Raises
    SettingError for one that is no address, without repeating it: it may hold a password."""
    if host in ("localhost", "127.0.0.1", "::1") or proxy_bypass(host):
        return None
    named = getproxies().get(scheme)
    if not named:
        return None
    address = named if "://" in named else f"http://{named}"
    try:
        parts = urlsplit(address)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good:
        raise SettingError(
            f"the proxy that {scheme}_proxy names is not of the form http://HOST:PORT: correct it, or name "
            "this host in no_proxy"
        )
    return address


def _words(error: BaseException) -> str:
    text = getattr(error, "strerror", None) or str(error)
    return text[:1].lower() + text[1:] if text else type(error).__name__
