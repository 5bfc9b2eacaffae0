"""How many trials a comparison needs: planning a run before paying for it.

With d the difference of log scores of a trial, of standard deviation ``spread``
(:attr:`.paired.Comparison.spread` of a like comparison), a ratio r of geometric means is seen at
two-sided level 0.05 with the wanted power by

    n = (z(0.975) + z(power))**2 * spread**2 / log(r)**2 + z(0.975)**2 / 2

trials: the normal approximation, and Guenther's term for the spread being estimated ("Sample size
formulas for normal theory t tests", 1981). Asking each trial k times divides the part of the spread
that is chance, so spread**2 = between**2 + within**2 / k. Assumes independent trials and a mean
difference that is near normal; :func:`simulated_power` checks the latter with real differences.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from beeline.draws import seed_of
from beeline.statistics import quantiles
from beeline.statistics.bootstrap import RESAMPLES, generator

__all__ = ["detectable_ratio", "power_of", "simulated_power", "spread_with_repeats", "trials_needed"]


def trials_needed(ratio: float, spread: float, power: float = 0.8) -> int:
    """Trials to tell ``ratio`` from 1; at least 2. Raises ValueError for a ratio of 1 or none."""
    if not ratio > 0 or ratio == 1 or not spread >= 0 or not 0 < power < 1:
        raise ValueError(
            f"no number of trials tells a ratio of {ratio} with spread {spread} and power {power}"
        )
    z, reach = _z(), quantiles.normal(power)
    return max(2, math.ceil((z + reach) ** 2 * (spread / math.log(ratio)) ** 2 + z * z / 2))


def power_of(trials: int, ratio: float, spread: float) -> float:
    """Probability that ``trials`` trials tell ``ratio`` from 1; the inverse of trials_needed."""
    if spread == 0:
        return 1.0 if ratio != 1 else 0.05
    z = _z()
    shift = abs(math.log(ratio)) / spread * math.sqrt(max(0.0, trials - z * z / 2))
    return quantiles.normal_below(shift - z) + quantiles.normal_below(-shift - z)


def detectable_ratio(trials: int, spread: float, power: float = 0.8) -> float:
    """The least ratio above 1 that ``trials`` trials tell from 1 (and one over it, below 1).

    Infinite for fewer than three trials.
    """
    z = _z()
    worth = trials - z * z / 2
    if worth <= 0:
        return math.inf
    return math.exp((z + quantiles.normal(power)) * spread / math.sqrt(worth))


def spread_with_repeats(between: float, within: float, repeats: int) -> float:
    """Spread of a trial's mean difference over ``repeats`` runs, from standard deviations: between
    trials, and within one (for two noisy models, the root of the sum of both squares)."""
    return math.sqrt(between**2 + within**2 / repeats)


def simulated_power(values: Sequence[float], ratio: float, trials: int, path: Sequence[str | int]) -> float:
    """Share of 2,000 seeded runs of ``trials`` trials that a t test finds different from 1.

    Differences are drawn with replacement from ``values`` (log differences of a like comparison),
    centred and shifted by log(ratio): their shape is kept. At ratio 1 it is the false-positive rate.
    Raises ValueError for fewer than two values or trials.
    """
    if len(values) < 2 or trials < 2:
        raise ValueError("power needs two differences and two trials or more")
    centred = np.asarray(values, dtype=np.float64)
    centred = centred - centred.mean()
    draws = generator(seed_of(*path)).random_sample(RESAMPLES * trials).reshape(RESAMPLES, trials)
    drawn = centred.take((draws * len(centred)).astype(np.intp)) + math.log(ratio)
    limit = quantiles.t(0.5 + quantiles.LEVEL / 2, trials - 1)
    found = np.abs(drawn.mean(axis=1)) > limit * drawn.std(axis=1, ddof=1) / math.sqrt(trials)
    return float(np.count_nonzero(found)) / RESAMPLES


def _z() -> float:
    return quantiles.normal(0.5 + quantiles.LEVEL / 2)
