"""Generator of basket assembly: a planted partition, a grid of dear tickets, and cheap traps.

Three groups of n items. The **planted** tickets part them into n triples. The **grid** has one ticket of
three for each pair of items of the first two groups, planted ones included; the third item of the others
follows a Latin square, a quarter of them drawn anew. **Traps** are as cheap as any ticket, and each meets
two planted tickets or more. Each item has a **single** ticket.

Prices: every item has a small potential u, and one item of each group is special. A ticket of three costs
max(7, sum of u - 15), a surcharge for each special item, and a penalty unless it is planted; a single one
costs a base that exceeds all else, its u and the surcharge. Every cover pays the same special surcharges,
and the penalty exceeds all potentials together, so the planted partition is the cheapest cover unless
traps can be completed with planted tickets alone; what is so is counted by the solver, not assumed.
"""

from __future__ import annotations

from typing import NamedTuple

from beeline.draws import Draws
from domains.worlds.basket_assembly.instance import Basket, Ticket
from domains.worlds.handles import make_handles

__all__ = ["SIZES", "Size", "generate"]

POTENTIALS = 34
DISCOUNT = 15
LEAST = 7
TRAP_PRICE = 4


Triple = tuple[int, int, int]
"""One item of each group, by number."""


class Size(NamedTuple):
    """Generator parameters."""

    group: int
    """Items of a group, n; there are n^2 + floor(0.4 n) tickets of three and 3n singles."""
    penalty: int
    """Added to tickets of three that are neither planted nor traps."""
    special: int
    """Added for each special item."""
    single: int
    """Base price of a single-item ticket."""


SIZES = {
    "L1": Size(6, 1130, 1190, 15_000),
    "L2": Size(8, 1540, 1580, 20_200),
    "L3": Size(9, 1740, 1780, 22_830),
    "L4": Size(10, 1930, 1985, 25_450),
}


def generate(size: Size, draws: Draws) -> Basket:
    """Draw an instance: groups, planted partition, grid, traps, potentials; then the prices."""
    n = size.group
    items = make_handles(draws, "item", "ITM", 3 * n, 12)
    draws.shuffle(items)
    second, third = list(range(n)), list(range(n))
    draws.shuffle(second)
    draws.shuffle(third)
    planted = [(x, second[x], third[x]) for x in range(n)]
    grid = _grid(draws, planted)
    special = draws.below(n), draws.below(n), draws.below(n)
    traps = _traps(draws, planted, grid, special)
    potential = [[draws.below(POTENTIALS) for _ in range(n)] for _ in range(3)]

    made: list[tuple[int, tuple[str, ...]]] = []
    for triple in [*planted, *grid]:
        price = max(LEAST, sum(potential[g][a] for g, a in enumerate(triple)) - DISCOUNT)
        price += size.special * sum(a == s for a, s in zip(triple, special, strict=True))
        price += 0 if triple in planted else size.penalty
        made.append((price, _names(items, triple)))
    made += [(TRAP_PRICE + k, _names(items, triple)) for k, triple in enumerate(traps)]
    for g in range(3):
        for a in range(n):
            price = size.single + potential[g][a] + size.special * (a == special[g])
            made.append((price, (items[g * n + a],)))
    names = make_handles(draws, "ticket", "TKT", len(made), 12)
    draws.shuffle(names)
    tickets = (Ticket(name, *row) for name, row in zip(names, made, strict=True))
    return Basket(tuple(sorted(items)), tuple(sorted(tickets)))


def _grid(draws: Draws, planted: list[Triple]) -> list[Triple]:
    """The tickets for the pairs of the first two groups that no planted ticket has."""
    n = len(planted)
    rows, columns, symbols = list(range(n)), list(range(n)), list(range(n))
    for order in (rows, columns, symbols):
        draws.shuffle(order)
    pairs = {triple[:2] for triple in planted}
    grid: list[Triple] = []
    for x in range(n):
        for y in range(n):
            if (x, y) in pairs:
                continue
            z = symbols[(rows[x] + columns[y]) % n]
            if draws.below(4) == 0:
                z = draws.below(n)
            grid.append((x, y, z))
    return grid


def _traps(draws: Draws, planted: list[Triple], grid: list[Triple], special: Triple) -> list[Triple]:
    """floor(0.4 n) triples without special items that are no ticket yet; not being planted, each meets
    two planted tickets or more."""
    n = len(planted)
    taken = {*planted, *grid}
    traps: list[Triple] = []
    while len(traps) < 2 * n // 5:
        triple = draws.below(n), draws.below(n), draws.below(n)
        if triple not in taken and not any(a == s for a, s in zip(triple, special, strict=True)):
            taken.add(triple)
            traps.append(triple)
    return traps


def _names(items: list[str], triple: Triple) -> tuple[str, ...]:
    n = len(items) // 3
    return tuple(sorted(items[g * n + a] for g, a in enumerate(triple)))
