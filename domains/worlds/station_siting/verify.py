"""Verification solver of station siting: backward over a ring of options, with a count of extended zones.

T(i; s, u) is the greatest value that zones i, i+1, ... can add when the last ``bandwidth`` zones before i
have the options s and u zones are extended so far:

    T(end; s, u) = 0
    T(i; s, u) = max over b with u + b <= most_extended of
        -cost(i, b) + rewards of demands between i and zones of s that s and b meet + T(i+1; s with b, u + b)

The optimum is T(first zone; nothing, 0). It shares nothing with the construction but the instance: backward
in place of forward; extended zones in place of basic ones, against the limit as it is told, whether or not
the instance is saturated. The option of zone j is bit j mod ``bandwidth`` of s, so that a new option takes
the place of the one that leaves. Tables hold every (s, u), whether a layout reaches it or not: no infinity
is needed. Exact: costs and rewards together are below 2^61 (checked by the instance).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from beeline.world_solution import Solution
from domains.worlds.station_siting.instance import Siting, sites_of

__all__ = ["verify"]

Ints = NDArray[np.int64]


def verify(instance: Siting) -> Solution:
    """The optimum, one optimal layout in corridor order (option 0 where both do), and the number of optima
    up to 2."""
    n, limit = len(instance.zones), instance.most_extended
    ring = 1 << instance.bandwidth
    table = np.zeros((limit + 1, ring), dtype=np.int64)
    ways = np.ones((limit + 1, ring), dtype=np.uint8)
    extends: list[NDArray[np.bool_]] = []
    for i in range(n - 1, -1, -1):
        table, ways, extend = _back(instance, i, table, ways)
        extends.append(extend)
    extends.reverse()

    options, string, extended = [], 0, 0
    for i, extend in enumerate(extends):
        option = int(extend[extended, string])
        bit = 1 << (i % instance.bandwidth)
        string = string | bit if option else string & ~bit
        extended += option
        options.append(option)
    return Solution(sites_of(instance, options), int(table[0, 0]) - instance.baseline, int(ways[0, 0]))


def _back(
    instance: Siting, i: int, after: Ints, after_ways: NDArray[np.uint8]
) -> tuple[Ints, NDArray[np.uint8], NDArray[np.bool_]]:
    """T(i), the numbers of optimal ways up to 2, and where only option 1 is optimal. Strings hold
    min(i, bandwidth) bits."""
    rows = after.shape[0]
    low = 1 << (i % instance.bandwidth)
    high = after.shape[1] // (2 * low)
    leaving = 2 if i >= instance.bandwidth else 1
    # Axes: extended so far, bits above that of zone i, that bit, bits below. None above until zones leave.
    next_, next_ways = after.reshape(rows, high, 2, low), after_ways.reshape(rows, high, 2, low)
    shape = (rows, high, leaving, low)
    gain = [_gain(instance, i, option).reshape(high, leaving, low) for option in (0, 1)]

    table = np.add(next_[:, :, :1], gain[0])
    assert table.shape == shape
    ways = np.broadcast_to(next_ways[:, :, :1], shape).copy()
    extend = np.zeros(shape, dtype=np.bool_)
    if rows > 1:
        other = next_[1:, :, 1:] + gain[1]
        other_ways = np.broadcast_to(next_ways[1:, :, 1:], other.shape)
        equal = other == table[:-1]
        np.greater(other, table[:-1], out=extend[:-1])
        np.copyto(ways[:-1], np.minimum(ways[:-1] + other_ways, 2), where=equal)
        np.copyto(ways[:-1], other_ways, where=extend[:-1])
        np.maximum(table[:-1], other, out=table[:-1])
    width = high * leaving * low
    return table.reshape(rows, width), ways.reshape(rows, width), extend.reshape(rows, width)


def _gain(instance: Siting, i: int, option: int) -> Ints:
    """What an option of zone i adds at each string before it: rewards less cost."""
    width = 1 << min(i, instance.bandwidth)
    gain = np.full(width, -instance.zones[i].costs[option], dtype=np.int64)
    for demand in instance.closing[i]:
        if demand.right_option == option:
            low = 1 << (demand.left % instance.bandwidth)
            gain.reshape(width // (2 * low), 2, low)[:, demand.left_option] += demand.reward
    return gain
