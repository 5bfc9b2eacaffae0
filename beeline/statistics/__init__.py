"""Numbers with their uncertainty: what a reviewer may ask of a score, one module a question.

This package holds what every run needs and imports nothing heavy; the rest is imported by module:

================  ================================================================================
``bootstrap``     the benchmark's means and 95% intervals, exact to the last digit
``paired``        two models on the same trials: ratio, sign-flip test, wins, ties, losses
``multiple``      every pair of several models, with Holm's correction
``clusters``      several runs a trial; means over decisions of the same trials
``shares``        Wilson's interval, and the share of decisions that change
``censored``      what unsolved trials could still have been
``power``         trials needed to see a given ratio
``variance``      how much of the spread is trial, order and repeat
``proper``        Brier score with its parts, log loss
``calibration``   calibration error, reliability curve, test
``discrimination``  accuracy against chance, area under the ROC curve, rank correlation
``position``      where the chosen option stood, against chance
``from_records``  records to keyed scores, runs, and the layout of variance components
================  ================================================================================

Everything is a function of its arguments: draws are named by a path (:mod:`beeline.draws`), keys
are sorted before they are used, and nothing depends on the order of a set or a dictionary.
"""

from __future__ import annotations

from beeline.statistics.basics import Interval, geometric_mean, mean
from beeline.statistics.bootstrap import (
    RESAMPLES,
    bootstrap_means,
    geometric_interval,
    mean_interval,
    overall_interval,
    uniform_draws,
)

__all__ = [
    "RESAMPLES",
    "Interval",
    "bootstrap_means",
    "geometric_interval",
    "geometric_mean",
    "mean",
    "mean_interval",
    "overall_interval",
    "uniform_draws",
]
