"""The test server in a thread of this process, or in the event loop of the program."""

from __future__ import annotations

import asyncio
import math
import threading
from collections import Counter
from time import monotonic
from types import TracebackType

from aiohttp import web

from beeline.errors import SettingError
from protocols.fake.app import State, make_app
from protocols.fake.counters import Counters
from protocols.fake.plan import FaultPlan
from protocols.fake.throttle import Bucket, Throttle

__all__ = ["FakeServer"]


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
        self._state = State(faults, latency_ms / 1000.0, key, seed, throttle)
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
            make_app(self._state), access_log=None, shutdown_timeout=0.1, auto_decompress=False
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
