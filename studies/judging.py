"""From kept answers to numbers: is a model right, does it know that it is, does it tell apart?

A line is what :func:`studies.asking.ask_trials` gives. Probabilities: what is missing to 1 is spread
evenly over the options (rounding took it), what is above 1 is divided out; of a noul, yes and no are
brought to a sum of 1. The pick is the likeliest option, on a tie the first shown (the order is drawn).

* choice: the event is *the pick is a nearest state*, with the pick's probability; for the log loss
  the probability of all nearest states together. Chance is their share of the options.
* noul: the event is *yes*; a probability above one half says yes. Chance is one half, since a fair coin
  chose between yes and no.
* score: the event is *the likeliest range is right*, with its probability; for the log loss the
  probability of the right range. Chance is one over the number of ranges. Moves expected are the mean
  of the middles of the ranges.

Trials are the clusters of all intervals. Unusable answers are left out, and counted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from beeline.statistics.basics import Interval, mean
from beeline.statistics.calibration import (
    Bin,
    CalibrationError,
    calibration_error,
    calibration_test,
    reliability_curve,
)
from beeline.statistics.clusters import mean_over_clusters
from beeline.statistics.discrimination import accuracy_over_chance, auc, rank_correlation
from beeline.statistics.proper import Brier, LogLoss, brier, log_loss
from beeline.statistics.shares import share_over_clusters

__all__ = ["Judged", "Verdict", "distribution", "judge", "verdict"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one usable answer amounts to."""

    trial: int
    hit: bool
    chance: float
    probability: float
    """Of the event."""
    happened: bool
    right: float
    """Probability of all that is right, for the log loss."""
    expected: float | None = None
    """Moves expected, of a score."""
    moves: int | None = None
    """Moves in truth."""


@dataclass(frozen=True, slots=True)
class Judged:
    """All answers to the questions of one name. Numbers are None where no answer was usable."""

    about: str
    kind: str
    asked: int
    usable: int
    refused: int
    trials: int
    options: float
    """Options or levels of a question, in the mean."""
    chance: float | None = None
    """Accuracy of guessing."""
    accuracy: Interval | None = None
    knowledge: Interval | None = None
    """Accuracy between chance (0) and perfect (1)."""
    brier: Brier | None = None
    log_loss: LogLoss | None = None
    calibration: CalibrationError | None = None
    calibration_p: float | None = None
    """p-value of the calibration error were the model calibrated."""
    curve: tuple[Bin, ...] = ()
    auc: Interval | None = None
    """Discrimination: area under the ROC curve of the event's probability; 0.5 tells nothing."""
    rank: Interval | None = None
    """Rank correlation of moves expected with moves in truth (scores only)."""
    error: Interval | None = None
    """Mean of abs(moves expected - moves), of scores."""
    constant_error: float | None = None
    """The least error that a constant answer could have had on the same questions."""


def distribution(weights: Sequence[float], kind: str) -> list[float]:
    """Probabilities with a sum of 1 from numbers >= 0, at least one of them above 0."""
    total = math.fsum(weights)
    if kind == "noul":
        yes, no = weights
        # Only one of the two named: the other is the rest.
        if not no:
            return [min(1.0, yes), 1.0 - min(1.0, yes)]
        return [yes / total, no / total]
    if total >= 1.0:
        return [w / total for w in weights]
    rest = (1.0 - total) / len(weights)
    return [w + rest for w in weights]


def verdict(line: Mapping[str, Any]) -> Verdict | None:
    """Judge one answer; None when it is unusable."""
    if line["problem"] is not None:
        return None
    kind, weights, trial = line["kind"], line["weights"], line["trial"]
    p = distribution(weights, kind)
    if kind == "noul":
        truth = bool(line["truth"])
        return Verdict(trial, (p[0] > 0.5) == truth, 0.5, p[0], truth, p[0] if truth else p[1])
    pick = weights.index(max(weights))
    if kind == "score":
        truth = line["truth"]
        middles = [(low + high) / 2 for low, high in line["ranges"]]
        expected = math.fsum(m * q for m, q in zip(middles, p, strict=True))
        hit = pick == truth
        return Verdict(trial, hit, 1 / len(p), p[pick], hit, p[truth], expected, line["moves"])
    right = line["right"]
    hit = pick in right
    sure = min(1.0, math.fsum(p[i] for i in right))
    return Verdict(trial, hit, len(right) / len(p), min(1.0, p[pick]), hit, sure)


def judge(about: str, lines: Sequence[Mapping[str, Any]], path: Sequence[str | int]) -> Judged:
    """Everything about the answers to the questions of one name, of which there is at least one.

    Draws paths: ``path`` and "calibration" or "rank".
    """
    found = [v for v in map(verdict, lines) if v is not None]
    counted = Judged(
        about=about,
        kind=lines[0]["kind"],
        asked=len(lines),
        usable=len(found),
        refused=sum(bool(line.get("refused")) for line in lines),
        trials=len({line["trial"] for line in lines}),
        options=mean([len(line["weights"]) for line in lines]),
    )
    if not found:
        return counted
    trials = [v.trial for v in found]
    p, y = [v.probability for v in found], [int(v.happened) for v in found]
    hits, chances = [int(v.hit) for v in found], [v.chance for v in found]
    expected = [v.expected for v in found if v.expected is not None]
    moves = [v.moves for v in found if v.moves is not None]
    order = sorted(set(trials))
    return Judged(
        about=counted.about,
        kind=counted.kind,
        asked=counted.asked,
        usable=counted.usable,
        refused=counted.refused,
        trials=counted.trials,
        options=counted.options,
        chance=mean(chances),
        accuracy=share_over_clusters(
            [sum(h for h, t in zip(hits, trials, strict=True) if t == trial) for trial in order],
            [trials.count(trial) for trial in order],
        ),
        knowledge=accuracy_over_chance(hits, chances, trials),
        brier=brier(p, y, trials),
        log_loss=log_loss([v.right for v in found], [1] * len(found), trials),
        calibration=calibration_error(p, y, trials),
        calibration_p=calibration_test(p, y, [*path, "calibration"]),
        curve=tuple(reliability_curve(p, y, trials, bins=10 if len(found) >= 500 else 5)),
        auc=auc(p, y, trials),
        rank=rank_correlation(expected, moves, [*path, "rank"], trials) if moves else None,
        error=mean_over_clusters([abs(e - m) for e, m in zip(expected, moves, strict=True)], trials).interval(
            0.0
        )
        if moves
        else None,
        constant_error=_constant_error(moves),
    )


def _constant_error(moves: Sequence[int]) -> float | None:
    if not moves:
        return None
    middle = sorted(moves)[len(moves) // 2]
    return mean([abs(middle - m) for m in moves])
