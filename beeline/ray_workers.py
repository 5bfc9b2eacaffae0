"""The actors of engine=ray, as plain classes: what runs in other processes, on any node.

* :class:`ComputeWorker` keeps one core busy: offline arms, and models that compute.
* :class:`Runner` holds many searches that wait: it draws no answers itself but asks a host.
* :class:`ModelHost` is the one process that asks a model for all runners, so that requests in
  flight, budgets a minute and pauses are those of one client whatever the number of workers. A model
  that is placed (model.placement) lives in one or several.
* :class:`ComputeHost` is the same for a placed model that computes.

BeelineErrors are returned, not raised (:mod:`beeline.ray_messages`); anything else is a bug and
keeps its traceback.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import Mapping, Sequence
from typing import Any

from beeline.errors import BeelineError
from beeline.model import Model, make_model
from beeline.model_arm import UsabilityGuard, option_weights
from beeline.question import Answer, Question
from beeline.ray_channel import Channel, ChannelLost, Door
from beeline.ray_messages import Collected, Failure, Hello, Home, HostLost, RemoteFailure, code_digest
from beeline.ray_meter import Leave, RemoteMeter
from beeline.services import Services
from beeline.worker import TrialTask, ask_in_loop, run_offline, run_with_model, timed

__all__ = ["ComputeHost", "ComputeWorker", "Found", "ModelHost", "Runner"]

Found = tuple[float, float, dict[str, Any]]
"""Wall-clock start and end of a trial, and its result as of beeline.worker."""

_FUNCTIONS = {"run_offline": run_offline, "run_with_model": run_with_model}

QUIET_S = 0.25
"""Seconds between two reports of a host where nobody waits for one."""
LINGER_S = 0.002
"""Requests that ask for leave within this time share one message."""


def node_id() -> str:
    """Ray's id of this node."""
    import ray

    found: str = ray.get_runtime_context().get_node_id()
    return found


class _Actor:
    """What all actors have."""

    def __init__(self, home: Home) -> None:
        home.enter()
        # The driver alone handles Ctrl-C, and ends its actors. (Only a main thread may say so.)
        with contextlib.suppress(ValueError):
            signal.signal(signal.SIGINT, signal.SIG_IGN)

    def _hello(self) -> Hello:
        return Hello.here(node_id())


class ComputeWorker(_Actor):
    """One trial at a time, in the main thread of its process (alarms of Python models need that)."""

    def hello(self) -> Hello:
        """Who this is."""
        return self._hello()

    def code(self) -> str:
        """Digest of the code here."""
        return code_digest()

    def compute(self, function: str, task: TrialTask) -> Found | Failure:
        """``function`` is the name of one of beeline.worker's."""
        try:
            return timed(_FUNCTIONS[function], task)
        except BeelineError as error:
            return Failure.of(error, node_id())


class _Remote(Model):
    """The model of a host, as a search in a runner sees it; ``channel`` leads there where both are
    on one node."""

    def __init__(self, model_id: str, host: Any, channel: Channel | None, run: int) -> None:
        self.name = self.model_id = model_id
        self._host, self._channel, self._run = host, channel, run

    @classmethod
    def from_settings(cls, name: str, settings: Mapping[str, Any], plugins: tuple[str, ...] = ()) -> Model:
        raise NotImplementedError

    def describe(self) -> dict[str, Any]:
        return {}

    async def answer(self, question: Question) -> Answer:
        found: Answer | Failure
        if self._channel is None:
            found = await self._host.answer.remote(question, self._run)
        else:
            found = await self._channel.ask(question, self._run)
        if isinstance(found, Failure):
            raise RemoteFailure(found)
        return found


class Runner(_Actor):
    """Many trials at once in one event loop."""

    def __init__(self, home: Home) -> None:
        super().__init__(home)
        self._trials: dict[int, set[asyncio.Task[Any]]] = {}
        self._channels: dict[Any, asyncio.Task[Channel | None]] = {}

    async def hello(self) -> Hello:
        """Who this is."""
        return self._hello()

    async def code(self) -> str:
        """Digest of the code here."""
        return code_digest()

    async def trial(
        self, task: TrialTask, offline: dict[str, Any], model_id: str, host: Any, run: int
    ) -> Found | Failure | HostLost | None:
        """The model arm after its ``offline`` part; None when it was dropped. ``host`` is the handle of a
        ModelHost, ``run`` tells one condition from the others."""
        trials = self._trials.setdefault(run, set())
        arm = asyncio.create_task(self._arm(task, offline, model_id, host, run))
        trials.add(arm)
        try:
            return await arm
        except asyncio.CancelledError:
            return None
        finally:
            trials.discard(arm)

    async def _arm(
        self, task: TrialTask, offline: dict[str, Any], model_id: str, host: Any, run: int
    ) -> Found | Failure | HostLost:
        from ray.exceptions import RayActorError

        guard = UsabilityGuard()
        guard.good()  # the host guards, who sees the answers of all runners
        try:
            model = _Remote(model_id, host, await self._channel(host), run)
            return await ask_in_loop(task, offline, model, guard)
        except RemoteFailure as error:
            return error.failure
        except (RayActorError, ChannelLost):
            self._channels.pop(host, None)
            return HostLost()
        except BeelineError as error:
            return Failure.of(error, node_id())

    async def drop(self, run: int) -> None:
        """Nobody waits for the trials of a run any more."""
        for arm in self._trials.pop(run, ()):
            arm.cancel()

    async def _channel(self, host: Any) -> Channel | None:
        """The one channel to a host that is on this node; None for another, which is asked through
        Ray. Raises RayActorError."""
        if host not in self._channels:
            for other, channel in list(self._channels.items()):
                if channel.done() and not channel.cancelled() and _is_lost(channel):
                    del self._channels[other]
            self._channels[host] = asyncio.ensure_future(self._connect(host))
        return await asyncio.shield(self._channels[host])

    async def _connect(self, host: Any) -> Channel | None:
        node, name = await host.door.remote()
        return await Channel.to(name) if name is not None and node == node_id() else None


def _is_lost(channel: asyncio.Task[Channel | None]) -> bool:
    """Whether its host has hung up, or could not be asked where it is."""
    if channel.exception() is not None:
        return True
    made = channel.result()
    return made is not None and made.lost


def _guard(guards: dict[int, UsabilityGuard], run: int | None, answer: Answer, question: Question) -> None:
    """Count an answer as the search will; ``run`` is the condition it belongs to, None for a question
    outside trials. Raises ModelError where none of a condition's was ever usable."""
    if run is None:
        return
    guard = guards.setdefault(run, UsabilityGuard())
    if guard.usable:
        return
    _, problem = option_weights(answer, question.options)
    if problem is None:
        guard.good()
    else:
        guard.bad(problem)


class ModelHost(_Actor):
    """One model, asked by all runners."""

    def __init__(self, home: Home, config: str, plugins: tuple[str, ...]) -> None:
        super().__init__(home)
        self._config, self._plugins = config, plugins
        self._model: Model | None = None
        self._guards: dict[int, UsabilityGuard] = {}
        self._meter = RemoteMeter()
        self._door = Door(self.answer)
        self._answered = 0
        self._notice: str | None = None

    async def hello(self) -> Hello:
        """Who this is."""
        return self._hello()

    async def code(self) -> str:
        """Digest of the code here."""
        return code_digest()

    async def open(
        self, keys: Mapping[str, str], metered: bool, keep_replies: bool, check: bool
    ) -> Failure | None:
        """Make the model and get ready to ask it; ``check`` that this node has what it needs first.

        ``keys`` by the names of their variables. They come as an argument of a call, which Ray keeps
        in memory only, and stand in the environment no longer than the model takes to read them.
        """
        before = {name: os.environ.get(name) for name in keys}
        try:
            model = make_model(json.loads(self._config), self._plugins)
            self._meter = RemoteMeter(model.concurrency)
            model.attach(Services(self._meter if metered else None, self._say, keep_replies))
            os.environ.update(keys)
            if check:
                model.check()
            await model.open()
        except BeelineError as error:
            return Failure.of(error, node_id())
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
        self._places = asyncio.Semaphore(model.concurrency)
        self._model = model
        await self._door.open()
        return None

    async def door(self) -> tuple[str, str | None]:
        """This node, and where a runner on it may ask without Ray."""
        return node_id(), self._door.name

    async def answer(self, question: Question, run: int | None = None) -> Answer | Failure:
        """Ask the model; at most its ``concurrency`` questions are under way."""
        assert self._model is not None
        try:
            async with self._places:
                answer = await self._model.answer(question)
            _guard(self._guards, run, answer, question)
        except BeelineError as error:
            return Failure.of(error, node_id())
        except RemoteFailure as error:  # of the driver's meter
            return error.failure
        self._answered += 1
        return answer

    async def collect(self, leaves: Sequence[Leave]) -> Collected:
        """Take the driver's leaves and report: at once where requests ask for leave, else after
        a quarter of a second."""
        self._meter.grant(leaves)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(QUIET_S):
                await self._meter.asked.wait()
                await asyncio.sleep(LINGER_S)
        return self._collected()

    async def close(self) -> Collected:
        """Close the model; the last report."""
        self._door.close()
        if self._model is not None:
            await self._model.close()
        self._meter.asked.set()  # whoever collects goes first
        await asyncio.sleep(2 * LINGER_S)
        return self._collected(last=True)

    def _collected(self, last: bool = False) -> Collected:
        answered, self._answered = self._answered, 0
        return Collected(self._meter.take(last), answered, self._notice)

    def _say(self, text: str | None) -> None:
        self._notice = text


class ComputeHost(_Actor):
    """One placed model that computes: a question at a time, in the main thread of its process."""

    def __init__(self, home: Home, config: str, plugins: tuple[str, ...]) -> None:
        super().__init__(home)
        self._config, self._plugins = config, plugins
        self._model: Model | None = None
        self._guards: dict[int, UsabilityGuard] = {}
        self._answered = 0

    def hello(self) -> Hello:
        """Who this is."""
        return self._hello()

    def code(self) -> str:
        """Digest of the code here."""
        return code_digest()

    def open(self, keys: Mapping[str, str], metered: bool, keep_replies: bool, check: bool) -> Failure | None:
        """Make the model; it has no keys, and asking it costs nothing."""
        try:
            model = make_model(json.loads(self._config), self._plugins)
            model.attach(Services(keep_replies=keep_replies))
            if check:
                model.check()
        except BeelineError as error:
            return Failure.of(error, node_id())
        self._model = model
        return None

    def door(self) -> tuple[str, str | None]:
        """None: questions come one at a time, through Ray."""
        return node_id(), None

    def answer(self, question: Question, run: int | None = None) -> Answer | Failure:
        """Ask the model."""
        assert self._model is not None
        try:
            answer = self._model.answer_now(question)
            _guard(self._guards, run, answer, question)
        except BeelineError as error:
            return Failure.of(error, node_id())
        self._answered += 1
        return answer

    def collect(self, leaves: Sequence[Leave]) -> Collected:
        """Report how many were answered."""
        answered, self._answered = self._answered, 0
        return Collected(answered=answered)

    def close(self) -> Collected:
        """The last report."""
        return self.collect(())
