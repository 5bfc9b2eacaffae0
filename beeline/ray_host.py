"""The driver's side of the process that asks a model: places it, carries keys and spending, replaces it.

There is one host a model, on the driver's own node where that is part of the cluster: an address
such as 127.0.0.1 means what it means to the user, and keys stay on that machine. It is the one
client of the model's host, so requests in flight, budgets a minute and pauses hold over all
runners by being counted in one place. A model that is placed has one or several hosts, on nodes
that have what it needs.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Callable
from typing import Any

from beeline.engine import TRIES, Asking
from beeline.errors import BeelineError, WorkerError
from beeline.ray_messages import Collected, Home
from beeline.ray_meter import Purse
from beeline.ray_pool import awaited, greet, kill, loss_of, node_name
from beeline.ray_session import Session
from beeline.ray_workers import QUIET_S, ComputeHost, ModelHost
from beeline.resolver import resolve

__all__ = ["HostKeeper"]

_CLOSE_S = 5.0


class HostKeeper:
    """A host of one model, for all runs that ask it. ``answered`` is told how many answers came."""

    load = 0
    """Trials that ask it now."""

    def __init__(self, session: Session, asking: Asking, answered: Callable[[int], None]) -> None:
        self._session, self._asking, self._answered = session, asking, answered
        self._keys = {name: read_key(name) for name in asking.model.secret_variables()}
        self._handle: Any = None
        self._hello: Any = None
        self._deaths = 0
        self._closing = False
        self._notice: str | None = None
        self._changing = asyncio.Lock()
        self._pump: asyncio.Task[None] | None = None
        self._purse: Purse | None = None
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Raises what ended the pump, so that nobody waits for leave in vain."""

    async def handle(self) -> Any:
        """The host, placed anew when it died. Raises what the model raised while it was made or
        opened, WorkerError when it keeps dying."""
        from ray.exceptions import RayError

        async with self._changing:
            while self._handle is None:
                try:
                    await self._place()
                except RayError as error:
                    self._count_death(error)
            return self._handle

    async def lost(self, handle: Any) -> None:
        """A trial found that ``handle`` is gone."""
        async with self._changing:
            if handle is not self._handle:
                return
            self._count_death(None)

    async def close(self) -> None:
        """End the host; what it spent is entered first."""
        handle, self._handle = self._handle, None
        self._closing = True
        pump = self._pump
        # On a way out there may be nobody to answer any more; then the ledger counts as unknown
        # what it was not told.
        with contextlib.suppress(Exception):
            async with asyncio.timeout(_CLOSE_S):
                if handle is not None and pump is not None:
                    last: Collected = await awaited(handle.close.remote())
                    await asyncio.wait({pump})  # its report came before the last one
                    self._enter(last)
        if pump is not None:
            pump.cancel()
            await asyncio.gather(pump, return_exceptions=True)
        if handle is not None:
            kill(handle)
        if self._purse is not None:
            self._purse.lost()

    async def _place(self) -> None:
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        options: dict[str, Any] = {"num_cpus": 0, "max_restarts": 0}
        computes = self._asking.model.placement == "worker"
        if not computes:
            options["max_concurrency"] = 10_000
        placed, home = self._asking.placed, self._session.home()
        if placed is not None:
            options |= {"num_cpus": placed.num_cpus, "num_gpus": placed.num_gpus}
            options |= {"resources": dict(placed.resources), "scheduling_strategy": "SPREAD"}
        elif home is not None:
            options["scheduling_strategy"] = NodeAffinitySchedulingStrategy(home, soft=True)
        made: Any = ray.remote(ComputeHost if computes else ModelHost).options(**options)
        handle = made.remote(Home.here(), self._asking.config, self._asking.plugins)
        try:
            self._hello = await greet(self._session, handle)
            services = self._asking.services
            call = handle.open.remote(
                self._keys, services.meter is not None, services.keep_replies, placed is not None
            )
            failure = await awaited(call)
            if failure is not None:
                raise failure.error(node_name(self._session, failure.node))
        except BaseException:
            kill(handle)
            raise
        self._handle = handle
        self._purse = Purse(services.meter) if services.meter is not None else None
        self._pump = asyncio.create_task(self._carry(handle))

    async def _carry(self, handle: Any) -> None:
        """Carry spending and news between host and run, until the host ends."""
        from ray.exceptions import RayError

        leaves: Any = []
        computes = self._asking.model.placement == "worker"
        try:
            while not self._closing:
                leaves = self._enter(await awaited(handle.collect.remote(leaves)))
                if computes:  # its reports do not wait for news
                    await asyncio.sleep(QUIET_S)
            if self._purse is not None:
                self._purse.revoke(leaves)
        except RayError:
            try:
                await self.lost(handle)
            except BeelineError as error:  # it was once too often
                self._give_up(error)
        except Exception as error:
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        if not self.failed.done():
            self.failed.set_exception(error)
            self.failed.exception()  # whoever waits hears of it; there may be nobody

    def _enter(self, news: Collected) -> Any:
        self._answered(news.answered)
        if news.notice != self._notice and not self._closing:
            self._notice = news.notice
            self._asking.services.notice(news.notice)
        return self._purse.apply(news.ops) if self._purse is not None else []

    def _count_death(self, error: BaseException | None) -> None:
        """The host is gone; what it had reserved stays counted. Raises WorkerError the last time."""
        handle, self._handle = self._handle, None
        if self._pump is not None and self._pump is not asyncio.current_task():
            self._pump.cancel()
        if handle is not None:
            kill(handle)
        if self._purse is not None:
            self._purse.lost()
        self._deaths += 1
        where = loss_of(self._session, self._hello)
        name = self._asking.model.name
        if self._deaths >= TRIES:
            why = f" ({type(error).__name__})" if error is not None else ""
            raise WorkerError(
                f"the process that asks model {name} died {TRIES} times, at last {where}{why}; finished "
                "trials are kept"
            )
        print(
            f"note: the process that asks model {name}, {where}, was lost: what waits for it is asked again",
            file=sys.stderr,
            flush=True,
        )


def read_key(variable: str) -> str:
    """A key by the name of its variable, where models look for it. Raises SettingError."""
    found: str = resolve("protocols.secrets:read_key")(variable).reveal()
    return found
