"""Construction solver of basket assembly: the first uncovered item.

Items are numbered group by group. For a set m of covered items that is not full, let i be the first item
not in m, and

    V(full) = 0
    V(m) = min over tickets q that contain i and meet nothing of m of  price(q) + V(m with q)

Only sets that are reachable from the empty one are looked at. V(empty) is the optimum. Tickets are tried
in the order of their ids. Work:

- states: reachable sets, the full one included;
- transitions: for each of them but the full one, every ticket that contains its first uncovered item;
- checks: one test of disjointness for each of those, so as many;
- updates: strict improvements of V(m) in the order of trial;
- reconstructions: tickets of the decision.

Sets are integers with the first item as the *highest* bit. Then a greater set never has an earlier first
uncovered item, and adding a ticket makes a set greater: the sorted sets fall into one stretch for each item,
and are extended stretch by stretch, then valued from the last stretch back. Adding one ticket keeps the
order of the sets that it fits, so looking up the extended ones walks forward through memory.

Exact: all prices together are below 2^61 (checked by the instance), infinity is 2^62. Time O(s t log s)
for s reachable sets and t tickets of an item; memory about 25 bytes a set and 8 for each extension of
one stretch.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from beeline.draws import Draws
from beeline.world_solution import Solution, Work
from domains.worlds.basket_assembly.instance import Basket, Ticket

__all__ = ["random_cover", "reference", "solve"]

INFINITE = 2**62
Sets = NDArray[Any]
"""Of 32-bit unsigned integers where the items fit, else of 64-bit ones."""


class _Tried(NamedTuple):
    """A ticket with its set of items."""

    ticket: Ticket
    bits: int


def solve(instance: Basket) -> Solution:
    """The optimum, its cover sorted by id (of several, the one whose tickets come first when the first
    uncovered item chooses), the number of optima up to 2, and the work."""
    count = len(instance.items)
    numbered = [item for group in instance.groups for item in group]
    number_of = {instance.items[item]: i for i, item in enumerate(numbered)}
    tries: list[list[_Tried]] = [[] for _ in range(count)]
    for ticket in instance.tickets:
        places = [number_of[item] for item in ticket.items]
        tried = _Tried(ticket, sum(1 << (count - 1 - i) for i in places))
        for i in places:
            tries[i].append(tried)

    stretches = _reachable(tries, count)
    sets = np.concatenate(stretches)
    ends = np.cumsum([len(stretch) for stretch in stretches]).tolist()
    value = np.full(len(sets), INFINITE, dtype=np.int64)
    ways = np.zeros(len(sets), dtype=np.uint8)
    value[-1], ways[-1] = 0, 1  # the full set
    transitions = updates = 0
    for i in range(count - 1, -1, -1):
        stretch, end = stretches[i], ends[i]
        after, after_value, after_ways = sets[end:], value[end:], ways[end:]
        best = np.full(len(stretch), INFINITE, dtype=np.int64)
        number = np.zeros(len(stretch), dtype=np.uint8)
        for tried in tries[i]:
            fits = np.flatnonzero((stretch & sets.dtype.type(tried.bits)) == 0)
            found = np.searchsorted(after, stretch[fits] | sets.dtype.type(tried.bits))
            candidate = after_value[found] + tried.ticket.price
            arriving = after_ways[found]
            so_far, before = best[fits], number[fits]
            improved = candidate < so_far
            updates += int(np.count_nonzero(improved))
            same = np.minimum(before + arriving * (candidate == so_far), 2)
            best[fits] = np.minimum(candidate, so_far)
            number[fits] = np.where(improved, arriving, same)
        value[end - len(stretch) : end] = best
        ways[end - len(stretch) : end] = number
        transitions += len(stretch) * len(tries[i])
    cover = _trace(tries, count, sets, value)
    work = Work(len(sets), transitions, transitions, updates, len(cover))
    return Solution(sorted(ticket.id for ticket in cover), int(value[0]), int(ways[0]), work)


def _reachable(tries: list[list[_Tried]], count: int) -> list[Sets]:
    """The reachable sets by first uncovered item, each stretch sorted; the last holds the full set."""
    kind = np.uint32 if count <= 32 else np.uint64
    full = (1 << count) - 1
    # The least set whose first uncovered item is j: items 0..j-1 and no other.
    starts = np.array([full - ((1 << (count - j)) - 1) for j in range(count + 1)], dtype=kind)
    waiting: list[list[Sets]] = [[] for _ in range(count + 1)]
    waiting[0].append(np.zeros(1, dtype=kind))
    stretches = []
    for i in range(count):
        stretch = _distinct(np.concatenate(waiting[i]))  # never empty: single tickets lead to it
        waiting[i] = []
        stretches.append(stretch)
        for tried in tries[i]:
            fits = stretch[(stretch & kind(tried.bits)) == 0] | kind(tried.bits)
            cuts = np.searchsorted(fits, starts[i + 1 :]).tolist()
            for j, (start, end) in enumerate(zip(cuts, [*cuts[1:], len(fits)], strict=True), i + 1):
                if start < end:
                    waiting[j].append(fits[start:end])
    stretches.append(np.array([full], dtype=kind))
    return stretches


def _distinct(sets: Sets) -> Sets:
    """Sorted, each once. At L4 0.04 s in all; ``np.unique``, which hashes first, took 0.45 s."""
    sets.sort()
    new = np.ones(len(sets), dtype=bool)
    np.not_equal(sets[1:], sets[:-1], out=new[1:])
    return sets[new]


def _trace(tries: list[list[_Tried]], count: int, sets: Sets, value: NDArray[np.int64]) -> list[Ticket]:
    covered, at, cover = 0, 0, []
    full = (1 << count) - 1
    while covered != full:
        first = count - (covered ^ full).bit_length()
        for tried in tries[first]:
            if covered & tried.bits:
                continue
            after = int(np.searchsorted(sets, sets.dtype.type(covered | tried.bits)))
            if int(value[after]) + tried.ticket.price == int(value[at]):
                break
        cover.append(tried.ticket)
        covered, at = covered | tried.bits, after
    return cover


def reference(instance: Basket) -> list[str]:
    """Tickets by price, equal ones by id, each taken when it meets none of those taken: a cover, because
    every item has a ticket of its own."""
    return _greedy(sorted(instance.tickets, key=lambda ticket: (ticket.price, ticket.id)))


def random_cover(instance: Basket, draws: Draws) -> list[str]:
    """As the reference, in a drawn order: tickets of three first, so that some are taken."""
    tickets = list(instance.tickets)
    draws.shuffle(tickets)
    return _greedy(sorted(tickets, key=lambda ticket: -len(ticket.items)))


def _greedy(tickets: list[Ticket]) -> list[str]:
    covered: set[str] = set()
    taken = []
    for ticket in tickets:
        if covered.isdisjoint(ticket.items):
            covered.update(ticket.items)
            taken.append(ticket.id)
    return sorted(taken)
