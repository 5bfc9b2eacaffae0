"""Two conditions on the same trials: how much better, how sure, on how many trials.

A trial is easy or hard for everybody, so comparing within trials takes that spread out. The unit
is the difference of log scores of one trial (repeats averaged first); exp of its mean is the ratio
of the two geometric means. Over several domains each domain weighs the same, as in the overall
score. Only trials that both have are used.

- Interval: bootstrap of the differences, trials resampled within each domain, bounds by the
  *expanded percentile* method (Hesterberg, "What Teachers Should Know About the Bootstrap", 2015,
  section 4.3): ranks are moved outwards so that for normal differences the bounds are those of
  Student's t; the plain percentile interval covers some 92% at 20 trials.
- p-value: sign-flip permutation test. Were the conditions exchangeable within a trial, each
  difference would be as likely with the other sign. All sign patterns are counted when few trials
  differ; else (b + 1) / (m + 1) for b of m seeded patterns at least as extreme (Phipson and Smyth,
  "Permutation p-values should never be zero", 2010). Two-sided.
- Wins, ties and losses count trials; exact binomial (sign) test over those that differ.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from beeline.draws import seed_of
from beeline.statistics import quantiles
from beeline.statistics.basics import Interval, mean
from beeline.statistics.bootstrap import RESAMPLES, generator, resampled_means
from beeline.statistics.clusters import Key, trial_logs

__all__ = [
    "EXACT_UP_TO",
    "PATTERNS",
    "Comparison",
    "compare",
    "differences",
    "paired_ratio",
    "sign_flip_test",
    "sign_test",
]

EXACT_UP_TO = 18
"""Differences that are not zero, up to which all sign patterns are counted."""
PATTERNS = 9_999
"""Sign patterns drawn otherwise."""
_SAME = 1e-12
"""Log scores nearer than this are equal but for rounding (scores are ratios of small integers)."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Ours against theirs."""

    trials: int
    """Trials that both have, over all domains."""
    ratio: Interval
    """Ours / theirs, of geometric means; above 1 where ours is better."""
    p_value: float
    """Sign-flip test of no difference."""
    wins: int
    ties: int
    losses: int
    sign_p_value: float
    """Sign test over wins and losses."""
    spread: float
    """Standard deviation of the log differences within a domain, for :mod:`.power`; NaN when no
    domain has two trials."""


def differences(ours: Mapping[Key, float], theirs: Mapping[Key, float]) -> dict[str, list[float]]:
    """Mean log score of ours minus theirs by trial, for each domain, both sorted.

    Repeats are averaged first and need not be as many. Domains without a common trial are left out.
    """
    first, second = trial_logs(ours), trial_logs(theirs)
    found = {}
    for domain, trials in first.items():
        other = second.get(domain, {})
        common = [_exact_zero(value - other[trial]) for trial, value in trials.items() if trial in other]
        if common:
            found[domain] = common
    return found


def _exact_zero(difference: float) -> float:
    return 0.0 if abs(difference) <= _SAME else difference


def compare(
    ours: Mapping[Key, float], theirs: Mapping[Key, float], path: Sequence[str | int]
) -> Comparison | None:
    """Everything about one pair; None when no trial is common to both.

    Draws paths: ``path`` for the interval, ``path`` and "sign-flip" for the test.
    """
    by_domain = differences(ours, theirs)
    if not by_domain:
        return None
    groups = list(by_domain.values())
    every = [value for group in groups for value in group]
    weights = [1.0 / len(group) for group in groups for _ in group]
    wins, losses = sum(value > 0 for value in every), sum(value < 0 for value in every)
    freedom = len(every) - len(groups)
    squares = math.fsum((value - mean(group)) ** 2 for group in groups for value in group)
    return Comparison(
        trials=len(every),
        ratio=paired_ratio(groups, path),
        p_value=sign_flip_test(every, [*path, "sign-flip"], weights),
        wins=wins,
        ties=len(every) - wins - losses,
        losses=losses,
        sign_p_value=sign_test(wins, losses),
        spread=math.sqrt(squares / freedom) if freedom else math.nan,
    )


def paired_ratio(groups: Sequence[Sequence[float]], path: Sequence[str | int]) -> Interval:
    """exp of the mean over groups of the mean log difference, with its expanded bootstrap interval.

    ``groups`` holds the differences of each domain in trial order. A group of one difference has
    no spread to resample: with only such groups the bounds are 0 and infinity.
    """
    value = mean([mean(group) for group in groups])
    items, freedom = sum(map(len, groups)), sum(len(group) - 1 for group in groups)
    if not freedom:
        return Interval(math.exp(value), 0.0, math.inf)
    # For normal data, the t quantile times the bootstrap's spread, which divides by n, not n - 1.
    reach = quantiles.t(0.5 + quantiles.LEVEL / 2, freedom) * math.sqrt(items / freedom)
    rank = max(0, math.floor(quantiles.normal_below(-reach) * RESAMPLES) - 1)
    means = np.sort(resampled_means(groups, path))
    return Interval(math.exp(value), math.exp(means[rank]), math.exp(means[RESAMPLES - 1 - rank]))


def sign_flip_test(
    values: Sequence[float], path: Sequence[str | int], weights: Sequence[float] | None = None
) -> float:
    """Two-sided p-value that the weighted sum of ``values`` is 0 but for chance signs.

    Assumes that under the hypothesis each value is symmetric about 0. Weights (default equal) let
    domains of unequal size weigh the same. Sums that differ by rounding count as equal.
    """
    scale = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=np.float64)
    terms = np.asarray(values, dtype=np.float64) * scale
    terms = terms[terms != 0]
    observed = abs(math.fsum(terms.tolist()))
    least = observed - 1e-12 * float(np.abs(terms).sum())
    if len(terms) <= EXACT_UP_TO:
        sums = _all_sums(terms)
        return float(np.mean(np.abs(sums) >= least))
    draw = generator(seed_of(*path)).random_sample
    extreme, rows = 0, max(1, (1 << 16) // len(terms))
    for begin in range(0, PATTERNS, rows):
        count = min(rows, PATTERNS - begin)
        signs = np.where(draw(count * len(terms)).reshape(count, -1) < 0.5, -1.0, 1.0)
        extreme += int(np.count_nonzero(np.abs(signs @ terms) >= least))
    return float(extreme + 1) / (PATTERNS + 1)


def _all_sums(terms: ArrayLike) -> NDArray[np.float64]:
    """The sum under each sign pattern, one of each pair of opposite patterns; [0] without terms."""
    numbers = np.asarray(terms, dtype=np.float64)
    sums = numbers[:1] if len(numbers) else np.zeros(1)
    for number in numbers[1:]:
        sums = np.concatenate((sums + number, sums - number))
    return sums


def sign_test(wins: int, losses: int) -> float:
    """Exact two-sided binomial p-value of as uneven a split of fair coin tosses."""
    tosses, fewer = wins + losses, min(wins, losses)
    tail = sum(math.comb(tosses, k) for k in range(fewer + 1))
    return min(1.0, 2 * tail / (1 << tosses))
