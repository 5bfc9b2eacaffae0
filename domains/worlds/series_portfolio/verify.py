"""Verification solver of series portfolio: right to left, a series closes at its first title.

h_i is a table with one axis for each of the titles i .. i + w - 2, w being the largest span (fewer at the
end of the row): the most that title i, all later titles and all series that begin at i or later can add,
given the choices on the axes. With h_n = 0,

    h_i = max over the choice of title i + w - 1 of
          gain of title i + h_{i+1} + tables of the series that begin at i,

the tables being laid along the axes of their members. The optimum is the greatest entry of h_0, and the
decision is read from the front: first the titles of h_0, then at each step the title that was maximised away.

It shares nothing with the construction but the instance: the other direction, and arrays with an axis
for each title in place of bit codes. Exactness as there: all sums stay below 2^61.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from beeline.world_solution import Solution
from domains.worlds.series_portfolio.instance import Portfolio, Series

__all__ = ["verify"]


def verify(instance: Portfolio) -> Solution:
    """The optimum, one optimal decision in the order of the titles, and the number of optima up to 2."""
    n, axes = instance.size, instance.span - 1
    beginning: list[list[Series]] = [[] for _ in range(n)]
    for row in instance.series:
        beginning[row.members[0]].append(row)
    table: NDArray[np.int64] = np.zeros((), dtype=np.int64)
    number: NDArray[np.int8] = np.ones((), dtype=np.int8)
    later: dict[int, NDArray[np.bool_]] = {}
    for i in range(n - 1, -1, -1):
        shape = (2,) * (table.ndim + 1)
        total = np.broadcast_to(table, shape).copy()
        ways = np.broadcast_to(number, shape)
        total += _along(i, (i,), instance.titles[i].gains, total.ndim)
        for row in beginning[i]:
            total += _along(i, row.members, row.adjustments, total.ndim)
        if total.ndim > axes:
            later[i] = total[..., 1] > total[..., 0]
            table = total.max(axis=-1)
            counted = (ways * (total == table[..., None])).sum(axis=-1)
            number = np.minimum(counted, 2).astype(np.int8)
        else:
            table, number = total, ways
    best = int(table.max())
    ends = np.argwhere(table == best).tolist()
    optima = sum(int(number[tuple(end)]) for end in ends)
    choices = list(ends[0])
    for i in range(n - axes):
        choices.append(int(later[i][tuple(choices[i : i + axes])]))
    return Solution(instance.lots_of(choices), best, min(optima, 2))


def _along(first: int, members: tuple[int, ...], table: tuple[int, ...], ndim: int) -> NDArray[np.int64]:
    """A table along the axes of its members, the axis of title ``first`` being the first one of ``ndim``."""
    shape = [2 if first + axis in members else 1 for axis in range(ndim)]
    return np.array(table, dtype=np.int64).reshape(shape)
