"""Agents that need no model, and the offline arms of a world.

An agent is called with what a model would be told and returns a turn. The **oracle** follows an
acquisition plan, rebuilds the instance from the responses alone, solves it and submits; it knows
nothing else of the instance than the plan's calls. The **heuristic** does the same and submits the
reference decision. The **random** agent submits a seeded feasible decision and asks nothing. The
scripted bad agents show that the rules of play hold.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from beeline.draws import Draws
from beeline.episode import Ask, EpisodeLimits, EpisodeResult, ToolCall, Turn, play
from beeline.facts import Call, Executed
from beeline.world import Coordinate, World
from beeline.world_domain import WorldDomain
from beeline.world_score import arm_fields
from beeline.world_solution import Private

__all__ = [
    "OFFLINE_ARMS",
    "Agent",
    "PlanAgent",
    "bad_agents",
    "offline_agent",
    "run_world_offline",
    "scripted",
]

Agent = Callable[[Ask], Turn]
OFFLINE_ARMS = ("oracle", "heuristic", "random")


class PlanAgent:
    """Issues a plan's calls one a turn, then submits what ``decide`` makes of the rebuilt instance."""

    def __init__(
        self,
        domain: WorldDomain[Any],
        public: Mapping[str, Any],
        calls: Sequence[Call],
        decide: Callable[[Any], Any],
    ) -> None:
        self.domain = domain
        self.public = public
        self.calls = calls
        self.decide = decide
        self.told: list[Executed] = []

    def __call__(self, ask: Ask) -> Turn:
        """The next call of the plan, or the decision."""
        if ask.results:
            call = self.calls[len(self.told)]
            self.told.append(Executed(call.tool, call.arguments, json.loads(ask.results[0])))
        if len(self.told) < len(self.calls):
            call = self.calls[len(self.told)]
            return Turn([ToolCall(call.tool, json.dumps(dict(call.arguments)))])
        instance = self.domain.rebuild(self.public, self.domain.normalise(self.public, self.told))
        return _submit(ask.world, self.decide(instance))


def scripted(turns: Iterator[Turn]) -> Agent:
    """An agent that plays a list of turns and then says nothing."""
    return lambda ask: next(turns, Turn())


def offline_agent(arm: str, domain: WorldDomain[Any], private: Private[Any], world: World) -> Agent:
    """One of OFFLINE_ARMS. The oracle follows the fine-grained plan on instance index 2, the wide plan
    on the others, so that a run exercises both."""
    coordinate = world.coordinate
    if arm == "random":
        draws = Draws(domain.name, coordinate.trial, "random")
        return scripted(iter([_submit(world, domain.random_decision(private.instance, draws))]))
    plan = domain.plans(private.instance, coordinate.interface)[0 if coordinate.index == 2 else 1]
    public = domain.public(private.instance)
    if arm == "oracle":
        return PlanAgent(domain, public, plan.calls, lambda instance: domain.solve(instance).decision)
    if arm == "heuristic":
        return PlanAgent(domain, public, plan.calls, domain.reference)
    raise ValueError(f"no such arm: {arm}")


def bad_agents(domain: WorldDomain[Any], private: Private[Any], world: World) -> dict[str, Agent]:
    """Scripted agents that break rules, by name: no_decision, wrong_types, over_budget,
    repeat_evaluation, only_text."""
    best = private.solution.decision
    key = world.decision_key
    evaluator = world.evaluator.name
    wrong: Any = {"not": "this"} if world.container == "array" else ["not", "this"]
    first = domain.plans(private.instance, world.coordinate.interface)[0].calls[0]
    cost = max(world.costs[first.tool], 1)
    beyond = [ToolCall(first.tool, dict(first.arguments))] * (world.budget // cost + 2)
    return {
        "no_decision": scripted(iter([Turn([ToolCall(first.tool, dict(first.arguments))])])),
        "only_text": scripted(iter([Turn((), "The best decision is obvious.")])),
        "wrong_types": scripted(
            iter(
                [Turn([ToolCall(world.submit.name, {key: wrong})]), Turn([ToolCall(world.submit.name, "[]")])]
            )
        ),
        "over_budget": scripted(iter([Turn([call]) for call in beyond])),
        "repeat_evaluation": scripted(iter([Turn([ToolCall(evaluator, {key: best})] * 2)])),
    }


def run_world_offline(
    domain: WorldDomain[Any],
    trial: int,
    private: Private[Any] | None = None,
    limits: EpisodeLimits | None = None,
) -> dict[str, Any]:
    """The offline part of a trial's record: ``world`` (id), ``instance`` (the private record as JSON,
    for a cache) and ``arms``, the fields of :func:`beeline.world_score.arm_fields` by arm.

    ``private`` saves generating and solving the instance, as read from a cache.
    """
    coordinate = Coordinate.of_trial(trial)
    if private is None:
        private = domain.private(coordinate.level, coordinate.index)
    world = domain.world(private.instance, coordinate)
    sufficient = domain.sufficient(private.instance, coordinate.interface)
    arms = {}
    for arm in OFFLINE_ARMS:
        result: EpisodeResult = play(world, offline_agent(arm, domain, private, world), limits)
        arms[arm] = arm_fields(domain, private, world, result, sufficient)
    return {"world": world.id, "instance": domain.record(private), "arms": arms}


def _submit(world: World, decision: Any) -> Turn:
    return Turn([ToolCall(world.submit.name, json.dumps({world.decision_key: decision}))])
