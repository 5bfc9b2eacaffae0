"""The hidden split of the items: three groups of which every ticket of three takes one item each.

It is never told, but it follows from the tickets, up to the names of the groups: two items that share
a ticket are in different groups, so the split is a colouring of a graph with three colours. It is found
by exact backtracking, always at the item with the fewest colours left; the grid of tickets forces
nearly every step.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

__all__ = ["Groups", "three_groups"]

Groups = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]


def three_groups(count: int, triples: Sequence[Sequence[int]]) -> Groups | None:
    """Items 0..count-1 in three groups, each ascending, that no ticket of ``triples`` meets twice; groups
    in order of their first items, empty ones last. Of several splits, the first that is found. None
    when there is none."""
    shared: list[set[int]] = [set() for _ in range(count)]
    for triple in triples:
        for a, b in combinations(triple, 2):
            shared[a].add(b)
            shared[b].add(a)
    colours: list[int | None] = [None] * count
    if not _colour(shared, colours):
        return None
    one, two, three = sorted(
        (tuple(item for item in range(count) if colours[item] == colour) for colour in range(3)),
        key=lambda group: (not group, group),
    )
    return one, two, three


def _colour(shared: Sequence[set[int]], colours: list[int | None]) -> bool:
    """Colour the items that are left; False, and nothing coloured, when that is impossible."""
    open_items = [item for item, colour in enumerate(colours) if colour is None]
    if not open_items:
        return True
    allowed = {item: {0, 1, 2} - {colours[other] for other in shared[item]} for item in open_items}
    item = min(open_items, key=lambda item: (len(allowed[item]), -len(shared[item]), item))
    # The emptiest group first keeps items that no ticket of three contains from piling up in one.
    sizes = [colours.count(colour) for colour in range(3)]
    empty = [colour for colour in range(3) if sizes[colour] == 0]
    for colour in sorted(allowed[item], key=lambda colour: (sizes[colour], colour)):
        if colour in empty[1:]:
            continue  # the groups would only be renamed
        colours[item] = colour
        if _colour(shared, colours):
            return True
        colours[item] = None
    return False
