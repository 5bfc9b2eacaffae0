"""Proper scores of yes-or-no probabilities: Brier score with its decomposition, and log loss.

An item is one question: ``probabilities`` holds what the model gave to the event, ``outcomes``
whether it happened (0 or 1). For a choice question the event is "the chosen option is right" (or "this
option is right", an item an option). Items of one trial are no independent facts: give their trials
as ``clusters`` and the intervals take it into account.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from beeline.statistics.basics import Interval
from beeline.statistics.clusters import mean_over_clusters

__all__ = ["BINS", "CLIP", "Brier", "LogLoss", "bin_codes", "brier", "checked", "log_loss"]

BINS = 10
CLIP = 1e-6
"""Log loss counts probabilities below this as this (and above 1 - this likewise): one certain and
wrong answer would make it infinite, and a host that rounds to two decimals is certain often."""


def checked(probabilities: ArrayLike, outcomes: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Both as float arrays of one length; raises ValueError when they are empty, differ in length,
    or hold anything but probabilities and 0 or 1."""
    p, y = np.asarray(probabilities, dtype=np.float64), np.asarray(outcomes, dtype=np.float64)
    if p.ndim != 1 or p.shape != y.shape or not p.size:
        raise ValueError(f"{p.size} probabilities and {y.size} outcomes: give one of each a question")
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError("probabilities lie between 0 and 1: leave out questions without a usable answer")
    if not ((y == 0) | (y == 1)).all():
        raise ValueError("outcomes are 0 or 1")
    return p, y


def bin_codes(p: NDArray[np.float64], bins: int = BINS, equal_mass: bool = True) -> NDArray[np.intp]:
    """The bin of each probability, from 0 without gaps, rising with it; equal ones share a bin.

    Bins of equal mass hold about as many items each, however a model's probabilities crowd (Nguyen
    and O'Connor, "Posterior calibration and exploratory analysis for natural language processing
    models", 2015); a distinct value goes where the middle of its items falls. Otherwise bins are of
    equal width, 1 belonging to the last.
    """
    if equal_mass:
        _, inverse, counts = np.unique(p, return_inverse=True, return_counts=True)
        middle = np.cumsum(counts) - counts / 2
        wanted = np.minimum((middle / len(p) * bins).astype(np.intp), bins - 1)[inverse]
    else:
        wanted = np.minimum((p * bins).astype(np.intp), bins - 1)
    codes: NDArray[np.intp] = np.unique(wanted, return_inverse=True)[1].astype(np.intp)
    return codes


@dataclass(frozen=True, slots=True)
class Brier:
    """score = reliability - resolution + uncertainty + within."""

    score: Interval
    """Mean of (probability - outcome)**2; 0 is perfect, 0.25 what a constant one half gets."""
    reliability: float
    """Squared distance of a bin's mean probability from its share, weighted: lower is better."""
    resolution: float
    """Squared distance of a bin's share from the base rate, weighted: higher is better."""
    uncertainty: float
    """Base rate * (1 - base rate): of the questions, not of the model."""
    within: float
    """What grouping unequal probabilities into bins leaves over; 0 when a bin holds one value."""
    skill: float
    """1 - score / uncertainty: 0 for the base rate as constant answer; NaN when all outcomes agree."""


def brier(
    probabilities: ArrayLike,
    outcomes: ArrayLike,
    clusters: Sequence[Hashable] | None = None,
    bins: int = BINS,
) -> Brier:
    """Brier score (1950) with Murphy's decomposition ("A new vector partition of the probability
    score", 1973) over bins of equal mass, and the terms within bins that Stephenson, Coelho and
    Jolliffe ("Two extra components in the Brier score decomposition", 2008) add, as one."""
    p, y = checked(probabilities, outcomes)
    score = mean_over_clusters((p - y) ** 2, clusters)
    codes = bin_codes(p, bins)
    counts = np.bincount(codes)
    said, happened = np.bincount(codes, p) / counts, np.bincount(codes, y) / counts
    base = float(y.mean())
    weights = counts / len(p)
    off = p - said[codes]
    uncertainty = base * (1 - base)
    return Brier(
        score=score.interval(0.0, 1.0),
        reliability=float(weights @ (said - happened) ** 2),
        resolution=float(weights @ (happened - base) ** 2),
        uncertainty=uncertainty,
        within=float((off * off - 2 * off * (y - happened[codes])).mean()),
        skill=1 - score.value / uncertainty if uncertainty else float("nan"),
    )


@dataclass(frozen=True, slots=True)
class LogLoss:
    """Mean of -log(probability of what happened), in nats."""

    loss: Interval
    clipped: int
    """Items whose probability was moved to the clip, which then decides the loss."""


def log_loss(
    probabilities: ArrayLike,
    outcomes: ArrayLike,
    clusters: Sequence[Hashable] | None = None,
    clip: float = CLIP,
) -> LogLoss:
    """Log loss (Good, "Rational decisions", 1952), probabilities clipped to clip .. 1 - clip.

    For a choice question give the probability of the right option (of all right ones together)
    and outcomes of 1.
    """
    p, y = checked(probabilities, outcomes)
    kept = np.clip(p, clip, 1 - clip)
    losses = -np.where(y == 1, np.log(kept), np.log1p(-kept))
    return LogLoss(mean_over_clusters(losses, clusters).interval(0.0), int((kept != p).sum()))
