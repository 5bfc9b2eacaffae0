"""What one trial takes, as functions that any process can run.

A :class:`TrialTask` is plain data: a worker process, or the main one, makes the domain and the
model of it (once a process) and runs the arms. Results are plain data too.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from beeline.archive import Archive
from beeline.arms import run_offline_arms
from beeline.cache import SEARCH_CORE, WORLD_CORE, TrialCache
from beeline.digest import canonical
from beeline.draws import Draws
from beeline.model import Model, make_model
from beeline.model_arm import ModelArmResult, UsabilityGuard, model_arm
from beeline.ordering import BENCHMARK_ORDER
from beeline.problem import Domain
from beeline.question import Answer, Question
from beeline.representation import find_representation, represent
from beeline.resolver import resolve
from beeline.search import Limits
from beeline.space import Space
from beeline.wording import Wording

__all__ = [
    "DomainPlan",
    "TrialTask",
    "ask_in_loop",
    "begin_model_arm",
    "open_space",
    "run_offline",
    "run_with_model",
]


@dataclass(frozen=True, slots=True)
class DomainPlan:
    """A domain as a version makes it; hashable so that a process makes it once."""

    name: str
    target: str
    heuristic: str
    parameters: str
    """Canonical JSON."""
    definition: str
    """Digest of the whole definition."""
    limits: Limits
    """Of a search; a world has its own."""
    wording: Wording
    plugins: tuple[str, ...]
    cache: str | None
    """Cache folder; None for none."""
    ties: str = "frontier_order"
    order: str = BENCHMARK_ORDER
    representation: str | None = None
    """None for what the problem itself writes."""

    @classmethod
    def of(cls, parameters: Mapping[str, Any], **fields: Any) -> DomainPlan:
        """Make a plan with parameters given as a mapping."""
        return cls(parameters=canonical(dict(parameters)), **fields)


@dataclass(frozen=True, slots=True)
class TrialTask:
    """One trial of one condition. ``model`` is the canonical JSON of a model's config."""

    plan: DomainPlan
    trial: int
    model: str | None = None
    keep_trace: bool = False
    keep_replies: bool = False


def domain_of(plan: DomainPlan) -> Domain:
    """The domain of a plan, made once a process, whatever the condition."""
    return _domain(plan.target, plan.plugins, plan.heuristic, plan.parameters)


@lru_cache(maxsize=32)
def _domain(target: str, plugins: tuple[str, ...], heuristic: str, parameters: str) -> Domain:
    import json

    made: Domain = resolve(target, plugins)(heuristic, json.loads(parameters))
    return made


@lru_cache(maxsize=32)
def _cache_of(plan: DomainPlan) -> TrialCache:
    domain = domain_of(plan)
    folder = None if plan.cache is None else Path(plan.cache)
    core = WORLD_CORE if domain.suite == "worlds" else SEARCH_CORE
    return TrialCache(folder, plan.definition, plan.name, type(domain).__module__, core)


def cached_offline(plan: DomainPlan, trial: int) -> dict[str, Any] | None:
    """The cached offline part of a trial, if there is one; reads one small file."""
    return _cache_of(plan).get(trial)


def run_offline(task: TrialTask) -> dict[str, Any]:
    """Draw, measure and run the offline arms: ``instance``, ``shortest_path``,
    ``states_reachable``, ``states_reaching_goal`` and ``arms``."""
    return _offline(task.plan, task.trial)[0]


def _offline(plan: DomainPlan, trial: int) -> tuple[dict[str, Any], Space | None]:
    found = cached_offline(plan, trial)
    if found is not None:
        return found, None
    domain = domain_of(plan)
    if domain.suite == "worlds":
        result = _world(domain, trial)
        _cache_of(plan).put(trial, result)
        return result, None
    instance = domain.draw(trial, Draws(plan.name, trial))
    space = domain.space(trial, instance)
    result = {
        "instance": instance,
        "shortest_path": space.shortest_path,
        "states_reachable": space.states_reachable,
        "states_reaching_goal": space.states_reaching_goal,
        "arms": run_offline_arms(space, plan.name, trial, plan.limits),
    }
    _cache_of(plan).put(trial, result)
    return result, space


def _world(domain: Any, trial: int) -> dict[str, Any]:
    # Only here: a search needs nothing of worlds.
    from beeline.world_agents import run_world_offline

    return run_world_offline(domain, trial)


def open_space(plan: DomainPlan, trial: int, instance: Any) -> Space:
    """The state space of a drawn instance, written as the plan says."""
    return _written(plan, trial, instance, domain_of(plan).space(trial, instance))


def _written(plan: DomainPlan, trial: int, instance: Any, space: Space) -> Space:
    domain = domain_of(plan)
    representation = find_representation(domain, plan.representation)
    if representation is None:
        return space
    return represent(space, domain.build(trial, instance), representation)


def begin_model_arm(
    plan: DomainPlan, space: Space, trial: int, model: Model, guard: UsabilityGuard, keep_trace: bool
) -> Generator[Question, Answer, ModelArmResult]:
    """The model arm of a trial, ready to be driven."""
    domain = domain_of(plan)
    representation = find_representation(domain, plan.representation)
    task = representation.task if representation is not None else None
    return model_arm(
        space,
        plan.name,
        task or domain.task,
        trial,
        model.model_id,
        plan.limits,
        plan.wording,
        guard,
        keep_trace,
        plan.order,
        plan.ties,
    )


@lru_cache(maxsize=1)
def _model_of(config: str, plugins: tuple[str, ...]) -> tuple[Model, UsabilityGuard]:
    import json

    return make_model(json.loads(config), plugins), UsabilityGuard()


def run_with_model(task: TrialTask) -> dict[str, Any]:
    """A whole trial with a model that is asked in this process.

    As :func:`run_offline`, with the model arm among the arms; ``trace`` and ``archive`` hold
    their lines (None when not kept).
    """
    assert task.model is not None
    plan = task.plan
    result, space = _offline(plan, task.trial)
    if space is None:
        space = open_space(plan, task.trial, result["instance"])
    else:
        space = _written(plan, task.trial, result["instance"], space)
    model, guard = _model_of(task.model, plan.plugins)
    steps = begin_model_arm(plan, space, task.trial, model, guard, task.keep_trace)
    archive = Archive() if task.keep_replies else None
    try:
        question = next(steps)
        while True:
            answer = model.answer_now(question)
            if archive is not None:
                archive.add(question, answer)
            question = steps.send(answer)
    except StopIteration as stop:
        done: ModelArmResult = stop.value
    return _with_model(result, done, space, plan, archive)


async def ask_in_loop(
    task: TrialTask,
    offline: dict[str, Any],
    model: Model,
    guard: UsabilityGuard,
    answered: Callable[[], None] = lambda: None,
) -> tuple[float, float, dict[str, Any]]:
    """The model arm of a trial with a model that is awaited, after its ``offline`` part.

    Wall-clock start and end (Unix seconds) and a result as of :func:`run_with_model`; ``answered``
    is called after each answer. Nothing here depends on where the model is.
    """
    plan = task.plan
    space = await asyncio.to_thread(open_space, plan, task.trial, offline["instance"])
    archive = Archive() if task.keep_replies else None
    started = time.time()
    steps = begin_model_arm(plan, space, task.trial, model, guard, task.keep_trace)
    try:
        question = next(steps)
        while True:
            answer = await model.answer(question)
            if archive is not None:
                archive.add(question, answer)
            question = steps.send(answer)
            answered()
    except StopIteration as stop:
        done: ModelArmResult = stop.value
    return started, time.time(), _with_model(offline, done, space, plan, archive)


def _with_model(
    offline: dict[str, Any], done: ModelArmResult, space: Space, plan: DomainPlan, archive: Archive | None
) -> dict[str, Any]:
    arms = {**offline["arms"], "model": done.as_dict(space.shortest_path, plan.limits)}
    trace = done.trace.lines if done.trace is not None else None
    return {
        **offline,
        "arms": arms,
        "trace": trace,
        "archive": archive.lines if archive is not None else None,
    }


def timed(function: Any, task: TrialTask) -> tuple[float, float, dict[str, Any]]:
    """Run a function of a task; its wall-clock start and end (Unix seconds) and result."""
    started = time.time()
    result = function(task)
    return started, time.time(), result


def start_worker() -> None:
    """Prepare a worker process: the main process alone handles Ctrl-C; one BLAS thread; it ends
    with the main process, even when that is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def _end_with_parent() -> None:
    """Workers hold both ends of the queue they read, so a killed parent leaves them waiting."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
