"""The arms that ask no model: oracle, heuristic and random, over one trial.

All arms run the same search (:mod:`beeline.search`); they differ in what they know of a state
and in who chooses. Draws paths and tie rules are those of navigation-suite version 1.0.0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from beeline.draws import Draws
from beeline.search import Frontier, Limits, Outcome, search
from beeline.space import Space
from beeline.tally import Choices, Tally

__all__ = ["OFFLINE_ARMS", "ArmResult", "run_offline_arm", "run_offline_arms"]

OFFLINE_ARMS = ("oracle", "heuristic", "random")


@dataclass(frozen=True, slots=True)
class ArmResult:
    """One search of one arm. ``choices`` is None for the oracle, which is not tallied."""

    outcome: Outcome
    choices: Choices | None

    def as_dict(self, shortest_path: int, limits: Limits) -> dict[str, Any]:
        """The fields of a record. An unsolved run counts max_expansions in its score,
        whatever stopped it; ``expansions`` keeps the true count."""
        outcome = self.outcome
        charged = outcome.expansions if outcome.solved else limits.max_expansions
        fields: dict[str, Any] = {
            "expansions": outcome.expansions,
            "solved": outcome.solved,
            "path_length": outcome.path_length,
            "score": (shortest_path + 1) / charged,
            "path_score": path_score(shortest_path, outcome.path_length),
        }
        if self.choices is not None:
            fields["choices"] = self.choices.as_dict()
        return fields


def path_score(shortest_path: int, path_length: int | None) -> float | None:
    """shortest_path / path_length; None when unsolved. Both are 0 only where the start is a
    goal, which no domain of 1.0.0 draws; that path is perfect."""
    if path_length is None:
        return None
    return shortest_path / path_length if path_length else 1.0


def run_offline_arm(arm: str, space: Space, domain: str, trial: int, limits: Limits) -> ArmResult:
    """Run one of OFFLINE_ARMS. Ties go to the state found first."""
    if arm == "oracle":
        return _drive(
            space, limits, Draws(domain, trial, "evict", "oracle"), space.to_goal.__getitem__, None, _least
        )
    tally = Tally(space)
    if arm == "heuristic":
        return _drive(space, limits, Draws(domain, trial, "evict", "classic"), space.heuristic, tally, _least)
    if arm == "random":
        below = Draws(domain, trial, "random").below
        return _drive(
            space,
            limits,
            Draws(domain, trial, "evict", "random"),
            _no_key,
            tally,
            lambda frontier: below(len(frontier.states)),
        )
    raise ValueError(f"no such arm: {arm}")


def run_offline_arms(space: Space, domain: str, trial: int, limits: Limits) -> dict[str, dict[str, Any]]:
    """All offline arms of a trial as record fields, keyed by arm."""
    return {
        arm: run_offline_arm(arm, space, domain, trial, limits).as_dict(space.shortest_path, limits)
        for arm in OFFLINE_ARMS
    }


def _least(frontier: Frontier) -> int:
    keys = frontier.keys
    return keys.index(min(keys))


def _no_key(state: int) -> None:
    return None


def _drive(
    space: Space,
    limits: Limits,
    evict: Draws,
    key: Callable[[int], Any],
    tally: Tally | None,
    choose: Callable[[Frontier], int],
) -> ArmResult:
    steps = search(space, limits, evict, key, tally)
    try:
        frontier = next(steps)
        while True:
            index = choose(frontier)
            if tally is not None:
                tally.choose(frontier.states[index])
            steps.send(index)
    except StopIteration as stop:
        return ArmResult(stop.value, tally.choices if tally is not None else None)
