"""Construction solver of series portfolio: left to right, a series closes at its last title.

Titles are decided in order. All that the rest depends on is what the last w - 1 titles chose, w being the
largest span. With f_0(nothing) = 0 and a state s of the last min(i, w - 1) choices before title i,

    f_{i+1}(s b) = max over s of  f_i(s) + gain of choice b + adjustments of the series that end at title i,

where s b is cut to its last w - 1 choices. The optimum is the largest f_n. Work:

- states: A, the states before each title, and two more: the start and the end, where those left at
  the end of the row meet;
- transitions: both choices from each of those states, 2A;
- checks: three look-ups of a choice for each transition and each series that ends there (the first
  member of a series of two is looked up twice, so that its table is read as one of three);
- updates: each such adjustment that is added to a stored value;
- reconstructions: one for each title.

States are integers with the latest choice as the lowest bit: both choices after all states lie in one
array, and the choice that is cut off is its highest bit. Exact: everything together is below 2^61
(checked by the instance). Time O((n + series) 2^w), vectorised over states; memory n 2^w / 2 bytes
for the choices cut off and about 16 bytes x 2^w for each pattern of members.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from beeline.draws import Draws
from beeline.world_solution import Solution, Work
from domains.worlds.series_portfolio.instance import Portfolio, Series

__all__ = ["random_choices", "reference", "solve"]


def solve(instance: Portfolio) -> Solution:
    """The optimum, its lots in the order of the titles, the number of optima up to 2, and the work. Of
    several optima: the last w - 1 choices are the least as a binary number, and each one before them, from
    the back, is 0 where it can be."""
    kept = instance.span - 1
    ending: list[list[Series]] = [[] for _ in instance.titles]
    for row in instance.series:
        ending[row.members[-1]].append(row)
    codes = _Codes(2**instance.span)
    value, ways = np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.uint8)
    cut_off: list[NDArray[np.bool_] | None] = []
    states, transitions, checks, updates = 2, 0, 0, 0
    for i, title in enumerate(instance.titles):
        states += value.size
        total = (value[:, None] + np.array(title.gains, dtype=np.int64)).reshape(-1)
        ways = np.repeat(ways, 2)
        transitions += total.size
        for row in ending[i]:
            table = np.array(row.adjustments, dtype=np.int64)
            total += table[codes.of(i, row.members)[: total.size]]
            checks += 3 * total.size
            updates += total.size
        if i < kept:
            value = total
            cut_off.append(None)
            continue
        (zero, one), (zero_ways, one_ways) = total.reshape(2, -1), ways.reshape(2, -1)
        better = one > zero
        both = np.minimum(zero_ways + one_ways, 2)
        ways = np.where(better, one_ways, np.where(one == zero, both, zero_ways))
        value = np.maximum(zero, one)
        cut_off.append(better)
    best = int(value.max())
    optima = min(2, int(ways[value == best].sum(dtype=np.int64)))
    choices = _trace_back(cut_off, kept, int(value.argmax()))
    work = Work(states, transitions, checks, updates, len(choices))
    return Solution(instance.lots_of(choices), best, optima, work)


class _Codes:
    """For a pattern of members, the position in the table under each combination of the last choices. The
    same patterns come again and again, and what holds for many last choices holds for fewer."""

    def __init__(self, size: int) -> None:
        self.combinations = np.arange(size)
        self.known: dict[tuple[int, ...], NDArray[Any]] = {}

    def of(self, last: int, members: tuple[int, ...]) -> NDArray[Any]:
        """The code of each combination; bit k of a combination is the choice of title ``last`` - k."""
        pattern = tuple(last - place for place in members)
        if pattern not in self.known:
            code = np.zeros_like(self.combinations)
            for back in pattern:
                code = 2 * code + (self.combinations >> back & 1)
            self.known[pattern] = code
        return self.known[pattern]


def _trace_back(cut_off: list[NDArray[np.bool_] | None], kept: int, state: int) -> list[int]:
    choices = []
    for better in reversed(cut_off):
        if better is not None:
            state |= int(better[state]) << kept
        choices.append(state & 1)
        state >>= 1
    return choices[::-1]


def reference(instance: Portfolio) -> list[str]:
    """The lot of greater value of each title, choice 0 of equal ones; series are ignored."""
    return instance.lots_of([int(title.one.value > title.zero.value) for title in instance.titles])


def random_choices(instance: Portfolio, draws: Draws) -> list[str]:
    """A drawn lot of each title."""
    return instance.lots_of([draws.below(2) for _ in instance.titles])
