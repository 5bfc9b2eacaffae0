"""Verification solver of basket assembly: forward over the covered sets of two groups.

The items of the first group x_0, x_1, ... are covered in turn, each by exactly one ticket. After i of them,
all that matters is which items Y of the second and Z of the third group are covered:

    D_0(none, none) = 0
    D_{i+1}(Y, Z) = min of  D_i(Y, Z) + price        over single tickets of x_i
                    and of  D_i(Y - y, Z - z) + price  over tickets {x_i, y, z} with y in Y and z in Z

At the end the items of Y and Z that are not covered take their single tickets; the optimum is the least
total. Each step holds a table of all 2^(items of two groups) pairs (Y, Z), at most 8 MiB at L4.

It shares nothing with the construction but the instance: forward in place of backward, tables indexed by two
groups in place of sorted sets of all items. It relies on the split, which the construction uses
for its numbering alone. Exactness as there: sums below 2^61, infinity 2^62, and infinity plus all single
prices below 2^63.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from beeline.world_solution import Solution
from domains.worlds.basket_assembly.instance import Basket, Ticket

__all__ = ["verify"]

FAR = 2**62
Ints = NDArray[np.int64]


class _Step(NamedTuple):
    """What may cover one item of the first group: a price, and items of Y and Z as bits, Y above Z."""

    price: int
    bits: int
    id: str


def verify(instance: Basket) -> Solution:
    """The optimum, one optimal cover sorted by id, and the number of optima up to 2."""
    first, second, third = ([instance.items[i] for i in group] for group in instance.groups)
    singles: dict[str, list[Ticket]] = {item: [] for item in instance.items}
    for ticket in instance.tickets:
        if len(ticket.items) == 1:
            singles[ticket.items[0]].append(ticket)
    steps = [_steps(instance, item, (*third, *second)) for item in first]

    size = 1 << (len(second) + len(third))
    table = np.full(size, FAR, dtype=np.int64)
    ways = np.zeros(size, dtype=np.uint8)
    table[0], ways[0] = 0, 1
    tables = [table]
    for options in steps:
        table, ways = _advance(table, ways, options)
        tables.append(table)

    rest, number = _singles([singles[item] for item in (*third, *second)])
    total = table + rest
    least = total.min()
    ends = np.flatnonzero(total == least).tolist()
    optima = sum(int(ways[end]) * int(number[end]) for end in ends[:2])
    cover = [
        min(singles[item], key=lambda ticket: (ticket.price, ticket.id)).id
        for k, item in enumerate((*third, *second))
        if not ends[0] >> k & 1
    ]
    cover += _walk_back(tables, steps, ends[0])
    return Solution(sorted(cover), int(least), min(optima, 2))


def _steps(instance: Basket, item: str, others: Sequence[str]) -> list[_Step]:
    """The tickets that contain an item of the first group; ``others`` are bits from the lowest up."""
    return [
        _Step(ticket.price, sum(1 << k for k, other in enumerate(others) if other in ticket.items), ticket.id)
        for ticket in instance.tickets
        if item in ticket.items
    ]


def _advance(
    table: Ints, ways: NDArray[np.uint8], options: Sequence[_Step]
) -> tuple[Ints, NDArray[np.uint8]]:
    """Values and numbers of optimal ways (up to 2) after one more item of the first group."""
    best = np.full(table.shape, FAR, dtype=np.int64)
    number = np.zeros(table.shape, dtype=np.uint8)
    reached = np.flatnonzero(ways)
    for option in options:
        start = reached[(reached & option.bits) == 0]
        end = start | option.bits  # different for different starts
        candidate, arriving = table[start] + option.price, ways[start]
        old, before = best[end], number[end]
        same = np.minimum(before + arriving * (candidate == old), 2)
        number[end] = np.where(candidate < old, arriving, same)
        best[end] = np.minimum(candidate, old)
    return best, number


def _singles(singles: Sequence[Sequence[Ticket]]) -> tuple[Ints, NDArray[np.uint8]]:
    """For each set of covered items: the least price of single tickets for the others, and in how many ways
    it is reached, up to 2. ``singles`` are in the order of the bits, lowest first."""
    rest, number = np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.uint8)
    for tickets in singles:  # the next higher bit: not covered, covered
        least = min(ticket.price for ticket in tickets)
        several = sum(ticket.price == least for ticket in tickets)
        rest = np.concatenate([rest + least, rest])
        number = np.concatenate([np.minimum(number * min(several, 2), 2), number])
    return rest, number


def _walk_back(tables: Sequence[Ints], steps: Sequence[Sequence[_Step]], covered: int) -> list[str]:
    """Tickets of the first group's items that lead to a covered set at its least price."""
    cover = []
    for i in range(len(steps) - 1, -1, -1):
        here = int(tables[i + 1][covered])
        for step in steps[i]:
            if step.bits & ~covered == 0 and int(tables[i][covered ^ step.bits]) + step.price == here:
                break
        cover.append(step.id)
        covered ^= step.bits
    return cover
