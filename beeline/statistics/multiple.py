"""Correction for looking many times: Holm's step-down procedure.

Holm, "A simple sequentially rejective multiple test procedure", 1979: with the m p-values sorted
ascending, the adjusted one of rank i (from 0) is the largest of (m - j) * p_j over j <= i, at most
1. Declaring what stays below 0.05 keeps the chance of even one false claim below 5%, whatever the
tests have to do with each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

__all__ = ["holm"]

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
