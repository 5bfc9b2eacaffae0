"""Generator of series portfolio: nothing is planted.

There is one series for each pair of titles at most span - 1 positions apart: neighbours form a series of
two, a pair farther apart one of three with a title drawn from between. The entries of a table are drawn and
sum to zero, so no choice of lots is good in itself; they are odd, so a table is never level. One lot of a
title, either one, has base value 100 and the other a little more: far less than what a series can take.
"""

from __future__ import annotations

from typing import NamedTuple

from beeline.draws import Draws
from domains.worlds.handles import make_handles
from domains.worlds.series_portfolio.instance import Lot, Portfolio, Series, Title

__all__ = ["SIZES", "Size", "generate"]

BASE = 100
LEAST_BONUS = 11
BONUSES = 26
LARGEST = {2: 1000, 3: 2000}
"""Bound of the adjustments of a series by its number of members."""


class Size(NamedTuple):
    """Generator parameters."""

    titles: int
    span: int
    """Largest span of a series; at most the number of titles."""


SIZES = {
    "L1": Size(44, 6),
    "L2": Size(64, 9),
    "L3": Size(88, 11),
    "L4": Size(96, 13),
}


def generate(size: Size, draws: Draws) -> Portfolio:
    """Draw an instance: the values of each title, then the series by first position and distance."""
    n = size.titles
    names = make_handles(draws, "title", "TTL", n, 12)
    zeros = make_handles(draws, "zero lot", "LOT-A", n, 12)
    ones = make_handles(draws, "one lot", "LOT-B", n, 12)
    draws.shuffle(names)
    titles = []
    for name, zero, one in zip(names, zeros, ones, strict=True):
        values = [BASE, BASE + LEAST_BONUS + draws.below(BONUSES)]
        if draws.below(2):
            values.reverse()
        titles.append(Title(name, Lot(zero, values[0]), Lot(one, values[1])))
    pairs = [(i, i + apart) for i in range(n) for apart in range(1, size.span) if i + apart < n]
    ids = make_handles(draws, "series", "SER", len(pairs), 12)
    draws.shuffle(ids)
    series = []
    for name, (first, last) in zip(ids, pairs, strict=True):
        between = (first + 1 + draws.below(last - first - 1),) if last - first > 1 else ()
        members = (first, *between, last)
        series.append(Series(name, members, _table(draws, len(members))))
    return Portfolio(tuple(titles), tuple(series))


def _table(draws: Draws, members: int) -> tuple[int, ...]:
    """Odd adjustments within the bound that sum to zero: all but the last are drawn, until the last one,
    which is odd because their number is, is within the bound too."""
    bound = LARGEST[members]
    while True:
        drawn = [2 * draws.below(bound) - bound + 1 for _ in range(2**members - 1)]
        if abs(sum(drawn)) <= bound:
            return (*drawn, -sum(drawn))
