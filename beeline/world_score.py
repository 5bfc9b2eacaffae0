"""What an episode was worth: the fields of a record's arm, exact where they are exact.

Gap: ``objective - optimum`` (minimise) or its negative. Regret: gap over the reference decision's
gap. Utility: ``100 * max(0, 1 - regret)``, 0 without a feasible decision. These are computed from
integers of any size as fractions and rounded once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from fractions import Fraction
from typing import Any

from beeline.episode import EpisodeResult, Status
from beeline.facts import Facts, coverage
from beeline.world import World
from beeline.world_domain import WorldDomain
from beeline.world_solution import Private

__all__ = ["Outcome", "arm_fields", "gap", "grounding", "outcome_of", "regret"]


class Outcome(StrEnum):
    """The five ways an evaluation can end; they partition all evaluations."""

    OPTIMAL = "optimal"
    SUBOPTIMAL = "suboptimal"
    INFEASIBLE = "infeasible"
    VIOLATION = "protocol_violation"
    """Nothing bound, but the final-decision tool was called in a form that could not be."""
    NO_DECISION = "no_decision"


def outcome_of(result: EpisodeResult, optimum: int) -> Outcome:
    """The class of an episode."""
    if result.verdict is None:
        return Outcome.VIOLATION if result.attempted else Outcome.NO_DECISION
    if not result.verdict.feasible:
        return Outcome.INFEASIBLE
    return Outcome.OPTIMAL if result.verdict.objective == optimum else Outcome.SUBOPTIMAL


def gap(world: World, objective: int, optimum: int) -> int:
    """How much worse than the optimum, in objective units; never negative for a true optimum."""
    return objective - optimum if world.sense == "min" else optimum - objective


def regret(world: World, objective: int, private: Private[Any]) -> Fraction:
    """Gap over the reference decision's gap: 0 is optimal, 1 as good as the reference."""
    return Fraction(
        gap(world, objective, private.optimum), gap(world, private.reference_objective, private.optimum)
    )


def grounding(world: World, result: EpisodeResult) -> tuple[int, int]:
    """(grounded, named): distinct handles named in the bound decision, and those of them that occur in
    the prompt or in an executed information response. (0, 0) when nothing is bound."""
    if not result.bound:
        return 0, 0
    named = set(_strings(result.decision))
    seen: set[str] = set()
    for called in result.log:
        if called.status in (Status.EXECUTED, Status.FAILED):
            seen.update(_strings(called.result))
    prompt = world.system + world.user
    return sum(handle in seen or _stands_in(handle, prompt) for handle in named), len(named)


def _stands_in(handle: str, prompt: str) -> bool:
    """As a whole: a piece of a handle is no handle."""
    return re.search(rf"(?<![\w-]){re.escape(handle)}(?![\w-])", prompt) is not None if handle else False


def _strings(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            waiting.extend(item.keys())
            waiting.extend(item.values())
        elif isinstance(item, list | tuple):
            waiting.extend(item)


def arm_fields(
    domain: WorldDomain[Any],
    private: Private[Any],
    world: World,
    result: EpisodeResult,
    sufficient: Sequence[Facts] | None = None,
) -> dict[str, Any]:
    """The record's fields of one arm. ``sufficient`` saves computing the sufficient sets again."""
    if sufficient is None:
        sufficient = domain.sufficient(private.instance, world.coordinate.interface)
    learnt = domain.normalise(domain.public(private.instance), result.executed(world))
    covered = coverage(sufficient, learnt)
    outcome = outcome_of(result, private.optimum)
    objective = result.verdict.objective if result.verdict is not None else None
    lost = None if objective is None else regret(world, objective, private)
    grounded, named = grounding(world, result)
    return {
        "outcome": outcome.value,
        "feasible": objective is not None,
        "exact": outcome is Outcome.OPTIMAL,
        "objective": objective,
        "optimum": private.optimum,
        "reference": private.reference_objective,
        "utility": 0.0 if lost is None else float(100 * max(Fraction(0), 1 - lost)),
        "regret": None if lost is None else float(lost),
        "sufficient": covered == 1,
        "coverage": float(covered),
        "calls": result.calls,
        "spend": result.spend,
        "budget": world.budget,
        "refused": result.refused,
        "turns": result.turns,
        "ending": result.ending.value,
        "budget_capped": result.budget_capped,
        "grounded": grounded,
        "named": named,
        "faults": len(result.faults),
    }
