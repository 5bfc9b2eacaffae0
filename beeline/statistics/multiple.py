"""Looking many times: every pair of several models, and Holm's step-down correction.

Holm, "A simple sequentially rejective multiple test procedure", 1979: with the m p-values sorted
ascending, the adjusted one of rank i (from 0) is the largest of (m - j) * p_j over j <= i, at most
1. Declaring what stays below 0.05 keeps the chance of even one false claim below 5%, whatever the
tests have to do with each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeVar

from beeline.statistics.clusters import Key
from beeline.statistics.paired import Comparison, compare

__all__ = ["Pair", "compare_all", "holm"]

K = TypeVar("K")


def holm(p_values: Mapping[K, float]) -> dict[K, float]:
    """Adjusted p-values by the same keys, in the same order; raises ValueError outside 0..1."""
    for key, p in p_values.items():
        if not 0 <= p <= 1:
            raise ValueError(f"the p-value of {key} is {p}, not a probability")
    adjusted: dict[K, float] = {}
    largest = 0.0
    for rank, (key, p) in enumerate(sorted(p_values.items(), key=lambda item: item[1])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p))
        adjusted[key] = largest
    return {key: adjusted[key] for key in p_values}


@dataclass(frozen=True, slots=True)
class Pair:
    """Two of several models on their common trials."""

    first: str
    second: str
    comparison: Comparison
    """The first against the second."""
    adjusted: float
    """Holm-adjusted sign-flip p-value, over all pairs."""


def compare_all(models: Mapping[str, Mapping[Key, float]], path: Sequence[str | int]) -> list[Pair]:
    """Every pair with a common trial, in the order of ``models``; values are keyed scores.

    Draws path of a pair: ``path`` and both names.
    """
    found = {
        (first, second): compare(models[first], models[second], [*path, first, second])
        for first, second in combinations(models, 2)
    }
    common = {names: result for names, result in found.items() if result is not None}
    adjusted = holm({names: result.p_value for names, result in common.items()})
    return [Pair(*names, result, adjusted[names]) for names, result in common.items()]
