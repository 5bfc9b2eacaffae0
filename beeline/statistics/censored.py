"""What an unsolved trial could still have been: bounds that no assumption narrows.

The rules charge an unsolved run ``max_expansions``. That is a convention: the run was stopped, and
how long it would have taken nobody knows. What is known of a run stopped at the limit:

- at best, the very next expansion had solved it: (shortest path + 1) / (max_expansions + 1);
- at worst, if it ever ends: no state is expanded twice, so a search that comes to its goal expands
  at most ``states_reachable`` states: (shortest path + 1) / states_reachable. (A frontier that
  overflows may lose the way for good; such a run has no score above 0 at any limit.)

So the score with all runs finished lies between the *worst* and the *best* here, and the rules' score
lies at the upper end: it flatters a model that does not finish. A run that ended before the limit
because its frontier was empty is not censored: more expansions change nothing, and it keeps the
score of the rules in both. (Bounding instead of modelling: Manski, "Partial Identification of
Probability Distributions", 2003.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from beeline.statistics.basics import Interval, mean
from beeline.statistics.bootstrap import geometric_interval
from beeline.statistics.paired import paired_ratio

__all__ = ["Bounds", "RatioBounds", "Run", "ratio_bounds", "score_bounds"]


@dataclass(frozen=True, slots=True)
class Run:
    """What the bounds need of one trial of one arm; ``score`` is that of the rules."""

    trial: int
    score: float
    solved: bool
    expansions: int
    shortest_path: int
    states_reachable: int

    @property
    def limit(self) -> int:
        """max_expansions of an unsolved run, from the score that the rules gave it."""
        return round((self.shortest_path + 1) / self.score)

    @property
    def censored(self) -> bool:
        """Stopped at the limit, so that its length is unknown."""
        return not self.solved and self.expansions >= self.limit

    @property
    def best(self) -> float:
        """The score at best."""
        return (self.shortest_path + 1) / (self.limit + 1) if self.censored else self.score

    @property
    def worst(self) -> float:
        """The score at worst, should the search come to its goal."""
        if not self.censored:
            return self.score
        return (self.shortest_path + 1) / max(self.states_reachable, self.limit + 1)


@dataclass(frozen=True, slots=True)
class Bounds:
    """Geometric means of the same trials; their intervals share one source of draws."""

    counted: Interval
    """By the rules."""
    best: Interval
    worst: Interval
    censored: int
    exhausted: int
    """Unsolved runs whose frontier was empty before the limit."""

    @property
    def low(self) -> float:
        """Below any 95% interval that the finished runs could give."""
        return self.worst.low

    @property
    def high(self) -> float:
        """Above any."""
        return max(self.best.high, self.counted.high)


def score_bounds(runs: Sequence[Run], path: Sequence[str | int]) -> Bounds | None:
    """Bounds of a domain's score; None without runs. ``path`` is that of the score's interval."""
    if not runs:
        return None
    ordered = sorted(runs, key=lambda run: run.trial)
    counted, best, worst = (
        geometric_interval([getattr(run, name) for run in ordered], path)
        for name in ("score", "best", "worst")
    )
    assert counted is not None
    assert best is not None
    assert worst is not None
    censored = sum(run.censored for run in ordered)
    unsolved = sum(not run.solved for run in ordered)
    return Bounds(counted, best, worst, censored, unsolved - censored)


@dataclass(frozen=True, slots=True)
class RatioBounds:
    """Ours / theirs of geometric means, on the trials that both have."""

    counted: float
    """By the rules."""
    low: float
    """Least ratio that the finished runs could have, its sampling interval included."""
    high: float
    """Greatest, likewise."""
    censored: int
    """Trials in which at least one of the two was stopped."""


def ratio_bounds(ours: Sequence[Run], theirs: Sequence[Run], path: Sequence[str | int]) -> RatioBounds | None:
    """Bounds of a paired comparison: the lower takes ours at worst and theirs at best, the upper
    the reverse. Where both were stopped nothing orders them. None without a common trial."""
    second = {run.trial: run for run in theirs}
    pairs = [
        (run, second[run.trial]) for run in sorted(ours, key=lambda run: run.trial) if run.trial in second
    ]
    if not pairs:
        return None
    least = [math.log(a.worst / b.best) for a, b in pairs]
    most = [math.log(a.best / b.worst) for a, b in pairs]
    return RatioBounds(
        counted=math.exp(mean([math.log(a.score / b.score) for a, b in pairs])),
        low=paired_ratio([least], path).low,
        high=paired_ratio([most], path).high,
        censored=sum(a.censored or b.censored for a, b in pairs),
    )
